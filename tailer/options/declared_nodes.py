"""The options of runs over several nodes: what happens where one is away, or has left. A part of the table."""

from __future__ import annotations

from typing import Final

from tailer.options import kinds
from tailer.options.declared import TROUBLE, WHAT, Option

NODES: Final = (
    Option(
        "on_node_lost", kinds.word("wait", "fail"), "Where a node's folder is away: the others go on, and its rows "
        "come when it is back; or the run ends (exit 8). Default: wait with several nodes, else fail.", TROUBLE, None,
        "on-node-lost", ("follow", "stream"), "onNodeLost",
        more="where a node's folder [is away](spark.md#nodes-come-and-go): `wait`: the others go on, and its rows come "
        "when it is back; `fail`: the query ends. Default: `wait` in streams with several nodes, else `fail`; batch "
        "reads always fail",
    ),
    Option(
        "node_wait", kinds.TIME, "How long a micro-batch that was planned waits for a node that is away, before it "
        "fails (exit 8).", TROUBLE, "10min", "node-wait", ("stream",), "nodeWait",
        more="with `onNodeLost=wait`: how long a batch that was planned waits for a node that is away, in the driver "
        "and in a task, before it fails with an error that may be tried again",
    ),
    Option(
        "removed_nodes", kinds.NODES, "A node that left for good, though the checkpoint knows it; may be given again.",
        WHAT, (), "removed-nodes", ("stream",), "removedNodes",
        more="nodes that [left for good](spark.md#nodes-come-and-go), though the checkpoint knows them: `n4,n5`",
    ),
)  # fmt: skip
