"""The stages of a check, in order, and the verdict of the first one that fails.

Attempted, admitted, compiles, the first fault in execution order (smallest case first), right,
where a grader asks: compiles for other GPUs too, then cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from course.check import compare, cost, waste
from course.check.accounted import by_other_means, uncounted
from course.check.advice import Advice
from course.check.annotated import source_lines
from course.check.cases import (
    VISIBLE_SEED,
    copied,
    drawn_case,
    known_answer,
    on_the_case,
    ordered_cases,
    run_of,
)
from course.check.compare import Compared
from course.check.outputs import compared
from course.check.reading import chosen, read_solution, takes_what_is_passed
from course.check.source import is_starter, parsed
from course.engine.cell.solution import Solution
from course.engine.faults import KernelFault, Outcome
from course.engine.job import Ran, Run, Runner
from course.engine.printed import Printed
from course.engine.runner import Engine
from course.engine.traffic import MOST_IN_A_ROW, Traffic
from course.plain.text import lines_of
from course.spec import shares
from course.spec.exercise import RIGHT_SHARE, Case, KernelExercise, Role
from course.spec.inputs import poisoned
from course.words.sentences import next_step, sentence
from course.words.verdict import TOLD_BY_TABLE, Extra, Verdict

#: Outcomes that one case shows, and a learner can look at there.
ON_A_CASE = (
    *(Outcome.WRONG_ANSWER, Outcome.OUT_OF_BOUNDS, Outcome.RACE, Outcome.UNINITIALISED),
    *(Outcome.BARRIER_DIVERGENCE, Outcome.TIMED_OUT),
)
#: What is too much for one warp or one program: a loop of it could be shared out.
OF_A_LOOP = ("too_serial", "program_too_busy")
#: Mistakes of which all cases together say more than one.
FOR_ALL_CASES = ("wrong_value", "wrong_scalar", "never_written", "never_stored", "output_read")


class Stages:
    """One check under way: what is known of the cell so far."""

    def __init__(
        self, exercise: KernelExercise, source: str, detailed: bool, advised: bool = True
    ) -> None:
        self.exercise = exercise
        self.cell: Solution | None = None
        #: whether what the cases show is put into advice: nobody reads it of a held-out case
        self.advised = advised
        self.advice: Advice | None = None
        self.source = source
        self.detailed = detailed
        self.parameters: tuple[str, ...] = ()
        self.span = (1, len(lines_of(source)))
        self.constants: dict[str, int] = {}
        self.seed: int | Sequence[int] = VISIBLE_SEED
        self.case: Case | None = None
        self.number = 0
        self.count = 0
        #: what autotune's configuration sets, by the number of a case that did not take the first
        self._tuned: dict[int, str] = {}
        #: by a case's number, once its launch has ended
        self._outputs: dict[int, list[Compared]] = {}
        #: what the kernel prints, where a learner is to see it
        self.printed: Printed | None = None

    # ------------------------------------------------------------ the stages

    def verdict(self, cases: Sequence[Case], seed: int | Sequence[int], runner: Runner) -> Verdict:
        self.seed = seed
        self._attempted()
        self._admitted()
        ordered = ordered_cases(self.exercise, cases)
        self.count = len(ordered)
        with self._ahead(ordered, seed, runner):
            results = [
                self._launched(self.case, seed, runner)
                for self.number, self.case in enumerate(ordered, start=1)
            ]
        for self.number, self.case in enumerate(ordered, start=1):
            wrong = self._wrong(self.case, *results[self.number - 1])
            if wrong is not None:
                return self._told(wrong, ordered, results)
        for self.number, self.case in enumerate(ordered, start=1):
            miscounted = self._uncounted(self.case, *results[self.number - 1])
            if miscounted is not None:
                return miscounted
        for _, ran in results:
            if ran.elsewhere is not None:
                raise ran.elsewhere
        measured = [ran.traffic for _, ran in results]
        graded = [one for case, one in zip(ordered, measured, strict=True) if case.traffic]
        return self._noted(self._cost(ordered, measured), graded)

    def _attempted(self) -> None:
        """The starter's marker still stands, and nothing is stored."""
        if not self.source.strip():
            raise KernelFault(Outcome.NOT_ATTEMPTED, "empty_cell", name=self.exercise.name)
        tree = parsed(self.source)
        if is_starter(tree):
            raise KernelFault(Outcome.NOT_ATTEMPTED, "not_attempted", name=self.exercise.name)

    def _admitted(self) -> None:
        """The cell is kernel code, its function takes the arguments, its constants are allowed."""
        exercise = self.exercise
        self.cell = cell = read_solution(self.source, exercise)
        self.parameters, self.span = cell.parameters[: len(exercise.passed)], cell.span
        takes_what_is_passed(cell, exercise)
        self.constants = constants = chosen(cell, exercise)
        if self.advised:
            self.advice = Advice(exercise, cell, constants)

    def _ahead(
        self, ordered: Sequence[Case], seed: int | Sequence[int], runner: Runner
    ) -> AbstractContextManager[None]:
        """Has begun what a compiler is longest at: registers and spills of the graded cases."""
        if self.exercise.dialect != "triton" or not isinstance(runner, Engine):
            return nullcontext()
        graded = [case for case in ordered if case.traffic]
        drawn = (drawn_case(self.exercise, case, self.constants, seed) for case in graded)
        runs = map(self._run, graded, drawn)
        return runner.ahead(self.source, runs)

    def _run(self, case: Case, arguments: Mapping[str, Any], tuned: int = 0) -> Run:
        return run_of(self.exercise, case, self.constants, self.source, arguments, tuned)

    def _launched(
        self, case: Case, seed: int | Sequence[int], runner: Runner
    ) -> tuple[dict[str, Any], Ran]:
        """(arguments as they were drawn, what the launch left of a second copy of them)."""
        arguments = drawn_case(self.exercise, case, self.constants, seed)
        before = copied(arguments)
        if self.printed is not None:
            self.printed.prefix = f"case {self.number} ({case.told}), "
        # a GPU may take any of autotune's configurations: each has its turn where nothing is graded
        ran = runner(self._run(case, arguments, 0 if case.traffic else self.number))
        self._tuned[self.number] = ran.tuned
        learner_names = dict(zip(self.parameters, before, strict=True))
        return before, replace(ran, traffic=ran.traffic.renamed(learner_names))

    def _wrong(self, case: Case, before: Mapping[str, Any], ran: Ran) -> Verdict | None:
        exercise = self.exercise
        for array in exercise.arrays:
            if array.role is Role.IN:
                changed = compare.changed(before[array.name], ran.arrays[array.name])
                if changed is not None:
                    outputs = [a.name for a in exercise.arrays if a.role is not Role.IN]
                    fields = {"array": array.name, "outputs": tuple(outputs), **changed}
                    return self._wrong_verdict("read_only_input", fields, ran.traffic)
                written = [
                    site.line
                    for site in ran.traffic.sites
                    if site.array == array.name and site.direction != "load" and site.sectors
                ]
                if written:  # what stood there before, or an atomic that adds 0
                    fields = {"array": array.name}
                    verdict = self._wrong_verdict("input_written", fields, ran.traffic)
                    return replace(verdict, line=min(written))
        for one in self._compared(self.number, case, before, ran):
            if exercise.finish is not None:
                unwritten = self._unwritten(ran)
                if unwritten is not None and one.wrong.any():
                    return unwritten
            wrong = compare.mistake_in(one)
            if wrong is not None:
                return self._mistaken(wrong, ran.traffic)
        return None

    def _mistaken(self, wrong: compare.Mistake, traffic: Traffic) -> Verdict:
        name = str(wrong.fields["array"])
        stored = traffic.sectors(name, "store") + traffic.sectors(name, "atomic")
        unstored = wrong.message_id == "never_written" and not stored
        return self._wrong_verdict(
            "never_stored" if unstored else wrong.message_id,
            wrong.fields,
            traffic,
            wrong.pattern_id,
            {**wrong.fields, **wrong.pattern_fields},
        )

    def _compared(
        self, number: int, case: Case, before: Mapping[str, Any], ran: Ran
    ) -> list[Compared]:
        """What a case left in each output, beside what was expected; worked out once."""
        if number not in self._outputs:
            cell = {} if self.cell is None else self.cell.constants
            known = known_answer(self.exercise, case, self.constants, self.seed)
            given = self.exercise, case, number, self.constants, cell
            self._outputs[number] = compared(*given, before, ran, known)
        return self._outputs[number]

    def _told(
        self, wrong: Verdict, ordered: Sequence[Case], results: Sequence[tuple[Any, Ran]]
    ) -> Verdict:
        """The verdict on the case that tells most, with what all cases say together."""
        of_a_part = self.exercise.finish is not None and wrong.message_id == "never_written"
        apart = of_a_part or any(self._tuned.values())
        if self.advice is None or wrong.message_id not in FOR_ALL_CASES or apart:
            return wrong
        numbered = list(enumerate(zip(ordered, results, strict=True), start=1))
        found = self.advice.of_answers(
            ordered, lambda: [self._compared(k, case, *result) for k, (case, result) in numbered]
        )
        if found is None:
            return wrong
        self.number = found.shown.number
        self.case = ordered[self.number - 1]
        plain = replace(found.mistake, pattern_id="")
        verdict = self._mistaken(plain, results[self.number - 1][1].traffic)
        if not found.message_id:
            return verdict
        return self._explained(verdict, found.message_id, found.fields)

    def _unwritten(self, ran: Ran) -> Verdict | None:
        """An output with elements that no thread wrote, where the host sums them up."""
        for array in self.exercise.arrays:
            left = poisoned(ran.arrays[array.name])
            if array.role is Role.OUT and left.any():
                index = np.unravel_index(int(np.argmax(left)), left.shape)
                others = int(left.sum()) - 1
                fields = {
                    "array": array.name,
                    "index": tuple(map(int, index)),
                    "total": left.size,
                    "others": others or None,
                }
                return self._wrong_verdict("never_written", fields, ran.traffic)
        return None

    def _uncounted(self, case: Case, before: Mapping[str, Any], ran: Ran) -> Verdict | None:
        """A right result that the counts cannot have led to, by chance, or by other means."""
        least = self.exercise.least_sectors(case, self.constants)
        fields = uncounted(self.exercise, least, before, ran)
        if fields is None:
            other, fields, line = by_other_means(self.exercise, ran.traffic)
            return self._made(Outcome.REJECTED, other, fields, line=line) if other else None
        if fields["done"] == "read":
            return self._wrong_verdict("unread", fields, ran.traffic)
        return self._made(Outcome.NOT_MEASURED, "unwritten", fields)

    def _cost(self, ordered: Sequence[Case], measured: Sequence[Traffic]) -> Verdict:
        """The traffic of every case, then what else is graded.

        The worst case is shown; of a right kernel, and of equal ones, a case that is marked.
        """
        bills = [
            cost.bill_of(self.exercise, self.constants, case, traffic)
            for case, traffic in zip(ordered, measured, strict=True)
        ]
        cases = range(len(bills))
        worst = min(cases, key=lambda k: (bills[k].credit, not ordered[k].traffic, -bills[k].ratio))
        if bills[worst].credit < 1.0:
            self.number, self.case = worst + 1, ordered[worst]
            return self._traffic_verdict(bills[worst])
        for kind in cost.GRADED:
            for k in sorted(cases, key=lambda k: not ordered[k].traffic):
                for _, extra in (over for over in bills[k].over if over[0] is kind):
                    self.number, self.case = k + 1, ordered[k]
                    return self._extra_verdict(kind, extra, bills[k])
        if not ordered[worst].traffic:
            return self._made(Outcome.PASS, "passed", {}, credit=1.0)
        self.number, self.case = worst + 1, ordered[worst]
        budgeted = {} if self.exercise.budget is None else {"budgeted": ""}
        return self._made(Outcome.PASS, "passed", budgeted, credit=1.0, bill=bills[worst])

    def _noted(self, verdict: Verdict, graded: Sequence[Traffic]) -> Verdict:
        """A pass with what a tutor would mention all the same."""
        if verdict.outcome is not Outcome.PASS or self.advice is None:
            return verdict
        notes = self.advice.of_pass(graded) or []
        return replace(verdict, next_steps=tuple(sentence(*note) for note in notes))

    def _extra_verdict(self, kind: cost.Graded, extra: Extra, bill: cost.Bill) -> Verdict:
        exercise, case = self.exercise, self.case
        assert case is not None
        marked = cost.extra_lines(kind, bill.traffic)
        cause = None
        message_id, line = kind.message_id, bill.traffic.busiest_lines.get(kind.count)
        share = shares.even_share(exercise, case, self.constants, bill.traffic.lane_work)
        if message_id == "too_serial" and extra.value <= shares.WORK_SLACK * share:
            message_id = "too_much_work"
        if message_id in OF_A_LOOP and line and self.advice is not None:
            loop, cause = self.advice.of_serial(bill.traffic) or (None, None)
            marked += [] if loop is None else [loop]
        verdict = self._made(
            kind.outcome,
            message_id,
            {
                "got": extra.value,
                "limit": extra.limit,
                "line": line,
                "share": share,
                "launches": bill.traffic.launches
                if bill.traffic.launches > MOST_IN_A_ROW
                else None,
            },
            credit=RIGHT_SHARE,
            bill=bill,
            marked=marked,
        )
        return verdict if cause is None else self._explained(verdict, *cause)

    # ------------------------------------------------------------ their verdicts

    def faulted(self, fault: KernelFault) -> Verdict:
        """The verdict on a fault of any stage."""
        name = self.exercise.name
        fields: dict[str, object] = {"name": name, "line": fault.line, **fault.fields}
        self._tuned[self.number] = str(fault.fields.get("tuned", ""))
        lines = [n for n in (fault.line, fault.fields.get("other_line")) if isinstance(n, int)]
        refused = fault.outcome in (Outcome.REJECTED, Outcome.DOES_NOT_COMPILE)
        if refused and fault.message_id != "tile_one_is_constant":
            self.number, self.case = 0, None  # the case does not matter: no launch would do
        verdict = self._made(fault.outcome, fault.message_id, fields, line=fault.line, marked=lines)
        if self.advice is None or self.case is None:
            return verdict
        cause = self.advice.of_fault(fault, self.case)
        return verdict if cause is None else self._explained(verdict, *cause)

    def _explained(self, verdict: Verdict, cause_id: str, fields: Mapping[str, object]) -> Verdict:
        """The verdict, with why it is so, and what to do about that in the place of the rest."""
        dialect = self.exercise.dialect
        why, step = sentence(cause_id, fields, dialect), next_step(cause_id, fields, dialect)
        if verdict.message_id in TOLD_BY_TABLE:  # and the message is not shown
            return replace(verdict, next_steps=(f"{why} {step}",))
        steps = (step,) if step else verdict.next_steps
        return replace(verdict, message=f"{verdict.message} {why}", next_steps=steps)

    def _wrong_verdict(
        self,
        message_id: str,
        fields: Mapping[str, object],
        traffic: Traffic,
        pattern_id: str = "",
        pattern_fields: Mapping[str, object] | None = None,
    ) -> Verdict:
        case = self.case
        assert case is not None
        bill = None
        if self.detailed:
            bill = cost.bill_of(self.exercise, self.constants, case, traffic)
        verdict = self._made(Outcome.WRONG_ANSWER, message_id, fields, bill=bill)
        if pattern_id:
            verdict = self._explained(verdict, pattern_id, pattern_fields or {})
        return self._with_order(verdict)

    def _with_order(self, verdict: Verdict) -> Verdict:
        """Adds a remark where the kernel has the parameters' names in another order."""
        expected = tuple(parameter.name for parameter in self.exercise.parameters)
        if self.parameters == expected or sorted(self.parameters) != sorted(expected):
            return verdict
        fields = {"expected": expected, "got": self.parameters}
        steps = (*verdict.next_steps, sentence("argument_order", fields))
        return replace(verdict, next_steps=steps)

    def _traffic_verdict(self, bill: cost.Bill) -> Verdict:
        row = cost.worst_row(bill.rows)
        assert row is not None
        message_id = "too_much_traffic"
        if row.direction == "total":
            message_id = "too_much_traffic_total"
            unforeseen = [r for r in bill.rows if r.budget_bytes is None and r.requested_bytes]
            if unforeseen:
                row = max(unforeseen, key=lambda r: r.requested_bytes)
                message_id = "unbudgeted_traffic"
        fields = {**cost.row_fields(row), "advice": waste.advice(row, bill.traffic)}
        worst = waste.sites_of(bill.traffic, row)
        verdict = self._made(
            Outcome.TOO_MUCH_TRAFFIC,
            message_id,
            fields,
            credit=bill.credit,
            bill=bill,
            line=max(worst, key=lambda site: site.sectors).line if worst else None,
            marked=sorted({site.line for site in worst}),
        )
        if self.advice is None or self.case is None:
            return verdict
        cause = self.advice.of_traffic(row, bill.traffic, self.case)
        return verdict if cause is None else self._explained(verdict, *cause)

    def _made(
        self,
        outcome: Outcome,
        message_id: str,
        fields: Mapping[str, object],
        *,
        credit: float = 0.0,
        line: int | None = None,
        bill: cost.Bill | None = None,
        marked: Sequence[int] = (),
    ) -> Verdict:
        exercise = self.exercise
        first, last = self.span if bill is not None or self.detailed else (1, 0)
        steps = [next_step(message_id, fields, exercise.dialect)]
        if tuned := self._tuned.get(self.number):
            of_it = "tile_tuned_other", {"tuned": tuned}, exercise.dialect
            steps.insert(0, f"{sentence(*of_it)} {next_step(*of_it)}")
        commands = [] if outcome is Outcome.PASS else [f"ex.{exercise.name}.hint()"]
        if bill is not None and not self.detailed:
            commands.append(f"ex.{exercise.name}.show({exercise.name})")
        if self.advised and self.case is not None and outcome in ON_A_CASE:
            place = exercise, self.case, self.number, self.constants
            commands.append(on_the_case(*place, fields))
        wrong = self.advised and outcome is Outcome.WRONG_ANSWER
        traffic = None if bill is None else bill.measured
        return Verdict(
            outcome=outcome,
            exercise=exercise.name,
            message=sentence(message_id, fields, exercise.dialect),
            message_id=message_id,
            line=line if line is not None else next(iter(marked), None),
            source=self.source,
            case_label=self.case.told if self.case else "",
            case_number=self.number,
            case_count=self.count,
            rows=() if bill is None else bill.rows,
            lines=source_lines(self.source, first, last, traffic, marked),
            extras=() if bill is None else bill.extras,
            credit=credit,
            max_points=exercise.points,
            next_steps=tuple(filter(None, steps)),
            commands=tuple(commands),
            detailed=self.detailed,
            wrong_at=_wrong_at(fields) if wrong else None,
        )


def _wrong_at(fields: Mapping[str, object]) -> tuple[str, tuple[int, ...]] | None:
    """The output that a sentence names, and the index in it."""
    index = fields.get("index")
    return (str(fields["array"]), index) if isinstance(index, tuple) else None
