"""Control flow of TensorFlow 1: reconstruct loops and conditions from Switch, Merge, Enter, Exit
and NextIteration.

Yu et al. 2018, Dynamic Control Flow in Large-Scale Machine Learning
(https://arxiv.org/abs/1805.01772).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.tensorflow.source import (
    Body,
    control_inputs,
    data_input,
    data_inputs,
    split_reference,
)

SWITCHES = frozenset({"Switch", "RefSwitch", "_SwitchN"})
MERGES = frozenset({"Merge", "RefMerge"})
ENTERS = frozenset({"Enter", "RefEnter"})
EXITS = frozenset({"Exit", "RefExit"})
Guards = Mapping[str, int]
"""The conditions of a node: the predicates it depends on, and the output of its innermost Switch.
"""


@dataclass(frozen=True)
class MergedBranches:
    """A Merge of Switches on one predicate: its values by the Switch's output. `is_index`: the
    predicate is a number.
    """

    predicate: str
    inputs: Mapping[int, str]
    is_index: bool


@dataclass(frozen=True)
class LoopVariable:
    """A loop variable: its initial value, its uses in condition and body, and its next value."""

    begin: str
    merge: str
    switches: tuple[str, ...]
    following: str


@dataclass(frozen=True)
class LoopFrame:
    """A loop: its variables, its condition, and its invariants by their Enter nodes."""

    name: str
    variables: Sequence[LoopVariable]
    condition: str
    constants: Mapping[str, str]

    @property
    def begins(self) -> list[str]:
        return [*(item.begin for item in self.variables), *self.constants.values()]


class ControlFlow:
    """The loops and conditions of one body."""

    def __init__(self, body: Body, name: str) -> None:
        self.body, self.name = body, name
        self.frames: dict[str, LoopFrame] = {}
        self.frame_of: dict[str, str] = {}
        self.choices: dict[str, MergedBranches] = {}
        self.partial: set[str] = set()
        """Nodes in loops and branches, which cannot be outputs."""
        if any(node.op in MERGES for node in body.nodes.values()):
            self._find_frames()
            self._find_choices()

    def loop_of(self, exit_node: str) -> tuple[LoopFrame, int]:
        """The loop of an Exit, and the variable that it returns."""
        switch = split_reference(data_input(self.body.nodes[exit_node]))[0]
        for frame in self.frames.values():
            for number, variable in enumerate(frame.variables):
                if switch in variable.switches:
                    return frame, number
        raise SourceError(f"{self.name}: {exit_node} exits no loop")

    def passed_on(self, node: Any) -> Sequence[str]:
        """The results of loops and conditions."""
        if node.op in EXITS:
            frame, number = self.loop_of(node.name)
            return [frame.variables[number].begin]
        choice = self.choices.get(node.name)
        return [] if choice is None else list(choice.inputs.values())

    def choice_of(self, merge: str) -> MergedBranches:
        """The condition of a Merge, and its branches."""
        if merge not in self.choices:
            raise SourceError(
                f"{self.name}: {merge} (Merge) merges branches that no condition distinguishes"
            )
        return self.choices[merge]

    def _find_frames(self) -> None:
        nodes = self.body.nodes
        switches: dict[str, list[str]] = {}
        for node in nodes.values():
            if node.op in SWITCHES:
                switches.setdefault(split_reference(data_input(node))[0], []).append(node.name)
        variables: dict[str, list[LoopVariable]] = {}
        conditions: dict[str, str] = {}
        for node in nodes.values():
            if node.op not in MERGES:
                continue
            sources = [nodes.get(split_reference(item)[0]) for item in data_inputs(node)]
            enter = next((item for item in sources if item is not None and item.op in ENTERS), None)
            following = next(
                (
                    item
                    for item in sources
                    if item is not None and item.op in ("NextIteration", "RefNextIteration")
                ),
                None,
            )
            if enter is None or following is None:
                continue
            frame = enter.attr["frame_name"].s.decode(errors="replace")
            variable_switches = tuple(switches.get(node.name, ()))
            variables.setdefault(frame, []).append(
                LoopVariable(data_input(enter), node.name, variable_switches, data_input(following))
            )
            self.frame_of[node.name] = frame
            for name in variable_switches:
                condition = nodes.get(split_reference(data_input(nodes[name], 1))[0])
                if condition is not None and condition.op == "LoopCond":
                    conditions[frame] = data_input(condition)
        for frame, loop_variables in variables.items():
            if frame not in conditions:
                raise SourceError(f"{self.name}: the loop {frame!r} has no condition")
            initial = {item.begin for item in loop_variables}
            constants = {
                node.name: data_input(node)
                for node in nodes.values()
                if node.op in ENTERS
                and node.attr["frame_name"].s.decode(errors="replace") == frame
                and (node.attr["is_constant"].b or data_input(node) not in initial)
            }
            self.frames[frame] = LoopFrame(frame, loop_variables, conditions[frame], constants)

    def _find_choices(self) -> None:
        nodes, guards, looping = self.body.nodes, dict[str, dict[str, int]](), set[str]()
        for name in _in_order(self.body, self.frame_of):
            node = nodes[name]
            sources = {
                split_reference(item)[0] for item in (*data_inputs(node), *control_inputs(node))
            }
            if name in self.frame_of or (sources & looping and node.op not in EXITS):
                looping.add(name)
            inputs = [(item, self._guards_of(item, guards)) for item in data_inputs(node)]
            if node.op in MERGES and name not in self.frame_of:
                guards[name] = self._choose(name, inputs)
                continue
            if name in self.frame_of:
                inputs = inputs[:1]
            node_guards: dict[str, int] = {}
            for _, input_guards in inputs:
                node_guards |= input_guards
            for item in control_inputs(node):
                node_guards |= self._guards_of(item, guards)
            guards[name] = node_guards
        self.partial = looping | {name for name, conditions in guards.items() if conditions}

    def _guards_of(self, reference: str, guards: Mapping[str, dict[str, int]]) -> dict[str, int]:
        """The conditions of a reference: those of its node and, for a Switch, the output."""
        name, _, port = split_reference(reference)
        node = self.body.nodes.get(name)
        node_guards = guards.get(name, {})
        if node is None or node.op not in SWITCHES:
            return node_guards
        predicate = data_input(node, 1)
        source = self.body.nodes.get(split_reference(predicate)[0])
        while source is not None and source.op == "Identity":
            predicate = data_input(source)
            source = self.body.nodes.get(split_reference(predicate)[0])
        return (
            node_guards
            if source is not None and source.op == "LoopCond"
            else {**node_guards, predicate: port}
        )

    def _choose(self, name: str, inputs: Sequence[tuple[str, dict[str, int]]]) -> dict[str, int]:
        if not inputs:
            raise SourceError(f"{self.name}: {name} (Merge) has no inputs; the graph is damaged")
        shared = set.intersection(*(set(guards) for _, guards in inputs))
        distinguishing = [
            predicate
            for predicate in shared
            if len({guards[predicate] for _, guards in inputs}) == len(inputs) > 1
        ]
        if not distinguishing:
            # Constant folding removes the conditions of assertions, which only order other nodes.
            return {}
        predicate = distinguishing[-1]
        is_index = any(
            node.op == "_SwitchN" and data_input(node, 1) == predicate
            for node in self.body.nodes.values()
        )
        self.choices[name] = MergedBranches(
            predicate, {guards[predicate]: reference for reference, guards in inputs}, is_index
        )
        first, *others = (guards for _, guards in inputs)
        return {
            key: port
            for key, port in first.items()
            if key != predicate and all(other.get(key) == port for other in others)
        }


def _in_order(body: Body, loops: Mapping[str, str]) -> Iterator[str]:
    """All nodes in topological order. Back edges of loops are ignored."""
    done: set[str] = set()
    for start in body.nodes:
        stack = [(start, False)]
        while stack:
            name, is_left = stack.pop()
            if is_left:
                yield name
                continue
            if name in done or name not in body.nodes:
                continue
            done.add(name)
            stack.append((name, True))
            node = body.nodes[name]
            for item in (*data_inputs(node), *control_inputs(node)):
                source = split_reference(item)[0]
                if not (
                    name in loops
                    and body.nodes.get(source) is not None
                    and body.nodes[source].op == "NextIteration"
                ):
                    stack.append((source, False))
