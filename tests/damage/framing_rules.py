"""What the framing may see of a damaged file: rules that hold for any damage, told by the undamaged file alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from itertools import accumulate, takewhile
from pathlib import Path
from typing import NamedTuple

from tailer.framing.chain import Limits, read_chain, scan_parts
from tailer.framing.forms import read_chain_now, scan_parts_now
from tailer.limits import OFFSET_MAX
from tests.damage.choice import ALL, frame_bytes
from tests.damage.damages import Damage, every_damage
from tests.damage.sample import SEGMENT, Sample, sample
from tests.damage.seen import GOOD, Framing, Look, Part, Seen
from tests.helpers.log_writer import KEY, SectionPlace

ENTRY_CRC = ("entry CRC does not check",)
SIZE_CRC = ("entry size CRC does not check", "entry of size zero")


class Harm(NamedTuple):
    """The damaged file; the first and the last byte of it that are not its own, and the section of the first.

    `place`: None behind the last section.
    """

    data: bytes
    first: int
    last: int
    place: SectionPlace | None


class Rules:
    """The rules of one sample."""

    def __init__(self, it: Sample) -> None:
        self.it = it
        self.framing = Framing(it.writer.name, SEGMENT, KEY)
        self.healthy = bytes(it.writer.data)

    @cached_property
    def truth(self) -> Look:
        return self.framing.look(self.healthy)

    def look(self, damage: Damage) -> Look:
        """What is seen of a damage, held against all rules."""
        found = self.framing.look(data := damage.of(self.healthy))
        over = range(damage.at, len(self.healthy) if damage.wrong is None else damage.at + len(damage.wrong))
        changed = [at for at in over if data[at : at + 1] != self.healthy[at : at + 1]]
        if not changed:
            assert found == self.truth, "nothing was damaged"
            return found
        place = next((place for place in self.it.writer.sections if changed[0] < place.next_at), None)
        harm = Harm(data, changed[0], changed[-1], place)
        if harm.first < self.it.writer.header_length:
            assert found.seen.header != GOOD, "a damaged header is taken for good"
            assert not found.bodies
            return found
        assert found.header == self.truth.header
        self._check_place(found, harm)
        self._check_bodies(found, harm)
        self._check_entries(found, harm)
        self._check_goes_on(found, data)
        return found

    def _check_place(self, found: Look, harm: Harm) -> None:
        """The fault lies in the section in which the damage begins; before it nothing is lost."""
        seen, truth, place = found.seen, self.truth.seen, harm.place
        before = len(truth.parts) if place is None else self.it.writer.sections.index(place)
        assert seen.parts[:before] == truth.parts[:before], "damage took something that lies before it"
        assert place is None or seen != truth or not self.it.readable, "damage that is not seen"
        if seen.reached == truth.reached:
            assert found.entries == self.truth.entries
        else:
            assert place is not None
            assert place.start <= seen.reached <= place.end, "the fault is not where the damage is"
        if seen.stop == "end of file":
            assert len(harm.data) < seen.at + 8
        if seen.stop == "zero marker":
            assert not any(harm.data[seen.at : seen.at + 8])
        if place is not None and place.at + 4 <= harm.first < place.at + 8:
            assert (len(seen.parts), seen.start) == (before, place.start), "a marker with another CRC checks"

    def _check_bodies(self, found: Look, harm: Harm) -> None:
        """Damage inside one body takes nothing from other sections; where that can be told, from other entries."""
        place, parts, truth = harm.place, found.seen.parts, self.truth.seen.parts
        if place is None or not self.it.body_at(place) <= harm.first <= harm.last < place.next_at <= len(harm.data):
            return
        number = self.it.writer.sections.index(place)
        if found.bodies[number].length_known:
            assert len(parts) == len(truth)
            assert parts[number + 1 :] == truth[number + 1 :], "damage took something that lies behind its section"
        if self.it.readable:
            self._check_bad(parts[number], harm, place)

    def _check_bad(self, part: Part, harm: Harm, place: SectionPlace) -> None:
        """An entry with wrong bytes is bad; with wrong bytes in its head so is the rest of its section."""
        due: list[tuple[tuple[str, ...], int, int]] = []
        for entry in place.entries:
            begin, end = (self.it.file_offset(place, offset) for offset in (entry.start, entry.end))
            if any(harm.data[at] != self.healthy[at] for at in range(begin, begin + 8)):
                due.append((SIZE_CRC, entry.start, place.end - entry.start))
                break
            if harm.data[begin:end] != self.healthy[begin:end]:
                due.append((ENTRY_CRC, entry.start, entry.end - entry.start))
        assert [bad[1:] for bad in part.bad] == [each[1:] for each in due]
        assert all(bad.kind in kinds for bad, (kinds, _, _) in zip(part.bad, due, strict=True)), part.bad

    def _check_entries(self, found: Look, harm: Harm) -> None:
        """Good entries are the log's own, byte by byte; up to the first fault none of them is missing."""
        reached = found.seen.reached
        good, due = ([entry for entry in look.entries if entry[0] < reached] for look in (found, self.truth))
        assert good == due, "an entry before the fault is missing"
        moved = set(found.entries) - set(self.truth.entries)
        assert {payload for _, payload in moved} <= {payload for _, payload in self.truth.entries}, "a strange entry"
        # Behind a section whose pointer or length is wrong, other offsets are counted.
        heads = [place for place in self.it.writer.sections if harm.first < self.it.body_at(place)]
        assert not moved or any(harm.last >= place.at for place in heads), "entries moved"

    def _check_goes_on(self, found: Look, data: bytes) -> None:
        """A later marker checks if its CRC is there and its pointer can be right."""
        seen = found.seen
        told = [(part.section.at, part.goes_on) for part in seen.parts if part.bad]
        if seen.stop not in (GOOD, "end of file", "zero marker"):
            told.append((seen.at, seen.goes_on))
        for at, goes_on in told:
            later = [place.at for place in self.it.writer.sections if place.at > at and self._may_check(place.at, data)]
            assert goes_on == bool(later), f"markers behind {at}: {later}"

    def _may_check(self, at: int, data: bytes) -> bool:
        crc = slice(at + 4, at + 8)
        return data[crc] == self.healthy[crc] and at + 8 <= int.from_bytes(data[at : at + 4], "big") <= len(data)


def check_twins(found: Look, data: bytes) -> None:
    """Many sections in one look give what they give one by one, whichever twin looks."""
    seen, header = found.seen, found.header
    if header is None:
        return
    block, at, limits = data[header.length :], header.length, Limits(len(data), OFFSET_MAX, OFFSET_MAX)
    due = [part.section for part in seen.parts]
    for read in (read_chain, read_chain_now(len(block))):
        sections = [*zip(*map(_as_list, read(block, header, at, at, limits)), strict=True)]
        # Behind a section of no known length a chain goes on as if it had one.
        assert sections == due or (not seen.stop and sections[: len(due)] == due)
    whole = [body.plain or b"" for body in takewhile(lambda body: body.plain is not None, found.bodies)]
    good = [*takewhile(lambda body: not body.bad, found.bodies)]
    edges = [*accumulate(map(len, whole), initial=0)]
    for scan in (scan_parts, scan_parts_now(edges[-1])):
        parts = scan(data := b"".join(whole), edges[:-1], edges[1:])
        assert (parts.good, _as_list(parts.counts)) == (len(good), [len(body.entries) for body in good])
        payloads = [data[start : start + size] for start, size in zip(parts.starts, parts.sizes, strict=True)]
        assert payloads == [payload for body in good for _, payload in body.entries]


def _as_list(numbers: Iterable[int]) -> list[int]:
    return [int(number) for number in numbers]


class Sight(NamedTuple):
    """What is seen of one damage, and the values that an error tells of its faults (`Look.values`)."""

    seen: Seen
    values: tuple[tuple[object, object], ...]

    def to_first_fault(self) -> Sight:
        return Sight(self.seen.to_first_fault(), self.values)


@cache
def sights(form: str, folder: Path) -> Mapping[Damage, Sight]:
    """Every damage of a form's sample, held against all rules."""
    rules, frame = Rules(it := sample(form, folder)), frame_bytes(it)
    found: dict[Damage, Sight] = {}
    alike: dict[Seen, Seen] = {}
    for damage in every_damage(rules.healthy):
        try:
            seen = (look := rules.look(damage)).seen
            if ALL or seen not in alike or damage.at in frame:
                check_twins(look, damage.of(rules.healthy))
        except BaseException as error:
            error.add_note(f"{form}, {damage}")
            raise
        found[damage] = Sight(alike.setdefault(seen, seen), look.values)
    return found
