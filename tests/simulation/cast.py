"""Who takes part in a history: the logs' servers, their readers, targets and operators, as its seed says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.simulation.aside import LATER, Replays
from tests.simulation.command_rows import CommandRows
from tests.simulation.consumers import Comparing, Expected, Reader
from tests.simulation.disk import Disk, File
from tests.simulation.imaged import CommandImages, ImageReader
from tests.simulation.kept import KeptTables
from tests.simulation.micro_batches import MicroBatches
from tests.simulation.narrow import Narrow
from tests.simulation.nodes import Node, Nodes
from tests.simulation.operations import Operation, Source
from tests.simulation.operators import TOKEN, TOKENS, BatchReader, Serving, Unpacking, Visitor
from tests.simulation.promises import Promises
from tests.simulation.server import Cluster
from tests.simulation.service import Service
from tests.simulation.sqlite_model import Files
from tests.simulation.targets import RowTable, Spool
from tests.simulation.typed import TypedRows
from tests.simulation.world import Process, World

HOME: Final = Path("/sim/log")
ADDRESS: Final = "127.0.0.1:9043"
UNPACKED: Final = HOME / "unpacked" / "cdc_raw"
TOKEN_FILE: Final = HOME / "token"

Run = Callable[[], int | None]


class Cast:
    """Of one history."""

    def __init__(
        self, seed: int, operations: Sequence[Operation], *, source: Source, back: bool = False, order: int = 0
    ) -> None:
        """`back`: the clock of the first node may go back. `order`: of interleavings."""
        self.world = World(seed, order)
        self.world.files = Files()
        self.operations = operations
        self.kills = self.failures = 0
        self._machine = self.world.machine("node")
        self._machine.disk.make_folder("/sim")
        self._machine.disk.make_folder(str(HOME))
        self._machine.disk.sync(self._machine.disk.root)
        self._machine.disk.sync(self._machine.disk.find("/sim"))
        self.readers: dict[str, Reader | Comparing | MicroBatches | CommandRows] = {}
        self._servers: dict[str, Run] = {}
        self._folders: list[Path] = []
        self._nodes: list[Node] = []
        self._items: list[Operation] = []
        """What the service is to do."""
        self.serving: Serving | None = None
        self._replays: Replays | None = None
        self._table: RowTable | None = None
        self._spool: Spool | None = None
        self._promises: Promises | None = None
        self._unpacking: Unpacking | None = None
        self._backup_is_fresh = False
        self._running: dict[str, Process] = {}
        self._rotten: list[tuple[File, int, int]] = []
        """Of each file that a bit of has flipped: which byte, and what it was."""
        self._begins: dict[str, float] = {}
        """Readers that begin late: behind which share of the operations."""
        self._archive = HOME / "archive" if Random(f"{seed} archive").random() < 0.4 else None
        if source == "node":
            self._add_nodes(seed, back=back)
        else:
            self._add_service(seed)

    @property
    def disk(self) -> Disk:
        """Of the machine that all of it is on."""
        return self._machine.disk

    # Who is there

    def _add_nodes(self, seed: int, *, back: bool) -> None:
        count = Random(f"{seed} nodes").choice((1, 1, 2, 3))
        how = Random(f"{seed} server").choice(("none", "none", "definitions", "snapshot"))
        pinned = how == "none" or Random(f"{seed} pinned").random() < 0.5
        # A table of one form cannot have two keys.
        typed = not back and Random(f"{seed} typed").random() < 0.25
        # A snapshot shows no deletion, and so none of the future (docs/snapshot.md).
        skewed = how == "none" and Random(f"{seed} skewed").random() < 0.5
        self._cluster = Nodes(
            seed, HOME, count, lambda: self._machine.wall_ns() // 1000,
            pinned=pinned, back=back, keeps_keys=typed, skewed=skewed,
        )  # fmt: skip
        self._nodes = self._cluster.all
        for node in self._nodes:
            self._machine.disk.make_folder(str(node.home))
            self._servers[f"server {node.name}"] = lambda node=node: self._cluster.serve(node)
        first = self._nodes[0]
        Cluster.open_to = self._cluster
        # Who does not know the ids of what no definition names ends with an error at it, or asks a server.
        odd: dict[str, Any] = {"quarantine_tables": (LATER.id,)} if Random(f"{seed} odd").random() < 0.3 else {}
        words = [] if how == "none" else ["--server", first.name]
        words += ["--quarantine-table", LATER.id] if odd else []
        options: dict[str, Any] = {**({} if how == "none" else {"server": first.name}), **odd}
        self._add_targets(first.folder, first.ledger, *words)
        if Random(f"{seed} spark").random() < 0.4:
            self._add_query(self._nodes, how != "none", bool(odd))
        if not back and Random(f"{seed} narrow").random() < 0.3:
            chance = Random(f"{seed} tables")
            self.readers["narrow"] = Narrow("narrow", first.folder, first.ledger, chance, **options)
        if typed:
            chance = Random(f"{seed} table")
            self.readers["typed"] = TypedRows("typed", first.folder, first.ledger, chance, **options)
        if odd:
            self._replays = Replays("always", first.folder, first.ledger, HOME / "later.cql")
        self._add_readers(first.folder, first.ledger, **options)
        self._folders = [node.folder for node in self._nodes]
        if Random(f"{seed} serves").random() < 0.4:
            self.serving = Serving(first.folder, ADDRESS, HOME / "tokens.toml")
            self.disk.make_file(str(TOKEN_FILE), TOKEN.encode())
            self.disk.make_file(str(HOME / "tokens.toml"), TOKENS.encode())
            self._servers["serve"] = self.serving.run
            how_to_ask = {"address": f"http://{ADDRESS}", "token_file": TOKEN_FILE}
            self.readers["remote"] = Reader("remote", first.folder, first.ledger, **how_to_ask, **odd)
        state = HOME / "images"
        words = [] if how == "none" else ["--server", ",".join(f"{node.name}={node.name}" for node in self._nodes)]
        logs: dict[str, Path | str] = {node.name: node.folder for node in self._nodes}
        if self.serving is not None and Random(f"{seed} images are remote").random() < 0.5:
            logs[first.name] = f"http://{ADDRESS}"
            words += ["--token-file", str(TOKEN_FILE)]
        words += ["--quarantine-table", LATER.id] if odd else []
        if Random(f"{seed} keeps").random() < 0.5:
            self.readers["kept"] = KeptTables("kept", self.world, logs, first.folder, HOME, self._cluster, *words)
        if not back and Random(f"{seed} rows").random() < 0.3:
            chance, expected = Random(f"{seed} saves"), {node.name: node.ledger for node in self._nodes}
            self.readers["rows"] = CommandRows("rows", first.folder, logs, expected, chance, *words)
        if how == "snapshot":
            words += ["--from", "snapshot", "--consistency", "ALL"]
            self._begins["images"] = Random(f"{seed} begins").random()
        if count == 1 and how != "snapshot" and logs[first.name] == first.folder:
            self.readers["images"] = ImageReader("images", first.folder, state, self._cluster, **odd)
        else:
            self.readers["images"] = CommandImages("images", first.folder, logs, state, self._cluster, *words)

    def _add_service(self, seed: int) -> None:
        promises = self._promises = Promises()
        runs = itertools.count()
        self._servers["service"] = lambda: Service(HOME, promises, seed, next(runs)).serve(self._items)
        self._folders = [HOME / "cdc_raw"]
        self._add_readers(self._folders[0], promises)
        self._add_targets(self._folders[0], promises)
        if Random(f"{seed} spark").random() < 0.4:
            self.readers["query"] = MicroBatches(
                "query", self.world, self._folders[0], {"": self._folders[0]}, {"": promises}
            )

    def _add_readers(self, folder: Path, expected: Expected, **options: Any) -> None:
        archived = {} if self._archive is None else {"archive": str(self._archive)}
        tries = Random(f"{self.world.seed} tries").choice((1, 10))
        self.readers["always"] = Reader("always", folder, expected, tries=tries, **options)
        self.readers["lagging"] = Reader("lagging", folder, expected, **options, **archived)
        whole = self._archive is not None
        self.visitor = Visitor("visitor", folder, expected, whole=whole, **options, **archived)
        if not expected.back:
            # Who begins when the clock went back already may have nothing but ids to go by.
            self.readers["visitor"] = self.visitor
            self._begins["visitor"] = Random(f"{self.world.seed} visitor").random()
        self._batch = BatchReader(folder, expected, whole=whole, **options, **archived)
        if self._archive is not None and len(self._nodes) < 2 and not expected.back:
            self.disk.make_folder(str(UNPACKED.parent))
            self._unpacking = Unpacking(self._archive, UNPACKED, expected, **options)

    def _add_targets(self, folder: Path, expected: Expected, *words: str) -> None:
        seed = self.world.seed
        archived = [] if self._archive is None else ["--archive", str(self._archive)]
        if Random(f"{seed} table").random() < 0.4:
            self._table = RowTable("table", self.world, folder, HOME, expected, *words, *archived)
            self.readers["table"] = self._table
        if Random(f"{seed} spool").random() < 0.3:
            spool = self._spool = Spool("spool", self.world, folder, HOME, expected, *words)
            self.readers["spool"] = spool
            self._servers |= {"ship": spool.ship, "post": spool.post, "web": spool.web.run}

    def _add_query(self, nodes: Sequence[Node], asks: bool, odd: bool) -> None:
        chosen = nodes[: Random(f"{self.world.seed} query").randint(1, len(nodes))]
        options = {"server": ",".join(f"{node.name}={node.name}" for node in chosen)} if asks else {}
        options |= {"quarantineTables": LATER.id} if odd else {}
        logs = {node.name: node.folder for node in chosen}
        expected = {node.name: node.ledger for node in chosen}
        self.readers["query"] = MicroBatches("query", self.world, chosen[0].folder, logs, expected, **options)
