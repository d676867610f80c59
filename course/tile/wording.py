"""What a learner reads about a Triton kernel: a sentence and a next step a message.

The rules of `course.words`, which takes these in, hold here too.
"""

from __future__ import annotations

_WRITE_TILE = "tl.load(pointer, mask=offsets < n, other=0.0)"

TILE: dict[str, tuple[str, str]] = {
    # ------------------------------------------------------------ the launch
    "tile_not_jitted": (
        "`{name}` is not a Triton kernel.",
        "Write `@triton.jit` above its `def`.",
    ),
    "tile_interpreter": (
        "Triton's own interpreter is switched on (TRITON_INTERPRET=1), so nothing can be counted.",
        "Unset TRITON_INTERPRET and restart the kernel of the notebook.",
    ),
    "tile_canary": (
        "A kernel whose counts are known gives others with Triton {version}, so nothing is "
        "measured with it.",
        "Install a version that the course names: see requirements.txt.",
    ),
    "tile_grid": (
        "{grid} is not the shape of a grid: it is one to three whole numbers|, at most {limit}|.",
        "Write it as a tuple: `kernel[(triton.cdiv(n, BLOCK),)](...)`.",
    ),
    "tile_grid_name": (
        "The grid asks for `{name}`, and the launch passes no argument of that name.",
        "Pass it by name, `kernel[grid](..., {name}=...)`, or count the programs without it.",
    ),
    "tile_zero_grid": (
        "The grid {grid} has no programs, so nothing would run.",
        "Round up when you count programs: `triton.cdiv(n, BLOCK)`; and skip the launch where "
        "there is nothing to do.",
    ),
    "tile_too_large": (
        "The launch starts {programs} programs, and the most here is {limit}.",
        "Try a smaller size, or a larger block.",
    ),
    "tile_argument": (
        "The argument `{name}` cannot be passed: {detail}.",
        "Pass CPU tensors, numbers, or a TensorDescriptor.",
    ),
    "tile_missing": (
        "`{kernel}` has a parameter `{name}`, and the launch passes nothing for it.",
        "Pass one argument for each parameter, in order or by name.",
    ),
    "tile_missing_constexpr": (
        "`{kernel}` needs the constant `{name}`, and the launch does not give it.",
        "Pass it by name: `kernel[grid](..., {name}=...)`.",
    ),
    "tile_no_parameter": (
        "`{kernel}` has no parameter `{name}`|: its parameters are {names}|.",
        "Correct the name in the launch, or add the parameter to the kernel.",
    ),
    "tile_twice": (
        "The launch gives `{name}` of `{kernel}` twice, by position and by name.",
        "Give it once.",
    ),
    # ------------------------------------------------------------ what Triton refuses
    "triton_refuses": (
        "Triton cannot compile this line: {detail}.",
        "Check the types and shapes on this line: which are constants (tl.constexpr), which are "
        "blocks, and what the operation takes.",
    ),
    "triton_compiler": (
        "Triton's compiler refuses this for compute capability {target}: {detail}.",
        "Check the types and shapes on this line: the engine here may run it, a GPU would not.",
    ),
    "tile_shared": (
        "A program needs {bytes} bytes of shared memory, and a GPU of compute capability {target} "
        "has {limit}.",
        "Use smaller blocks, or fewer stages: `num_stages=2` in the launch.",
    ),
    "triton_global": (
        "`{name}` stands outside the kernel and is no constant of Triton's|: it is {got}|.",
        "Write `{name}: tl.constexpr = ...` as a parameter, or `{name} = tl.constexpr(...)` "
        "above the kernel.",
    ),
    "triton_foreign_call": (
        "`{name}` cannot be called in a kernel: it is not Triton's, and it has no `@triton.jit`.",
        "Use a function of `tl`, or write `@triton.jit` above your own.",
    ),
    "tile_unsupported": (
        "This engine does not run {detail}.",
        "It may well run on a GPU. Here, write it another way to have it measured.",
    ),
    # ------------------------------------------------------------ while it runs
    "tile_out_of_bounds": (
        "Program {program} {doing} {array}[{index}], which does not exist: {array} has "
        "{elements} elements|, shape {shape}|.",
        f"Mask the lanes past the end: `{_WRITE_TILE}`; and check how the offsets are made.",
    ),
    "tile_no_tensor": (
        "Program {program} {doing} the address {address}, which lies in no tensor that was passed.",
        "Make the address from a pointer parameter plus offsets in elements.",
    ),
    "tile_descriptor": (
        "A tensor descriptor cannot have {detail}: the hardware wants its base and its rows at "
        "multiples of 16 bytes.",
        "Pad the rows, or load through pointers.",
    ),
    "tile_race": (
        "Program {program} {doing} {array}[{index}], and {other} {other_doing} it|, on line "
        "{other_line}|. Nothing says which program comes first.",
        "Let one program alone own each element, or use an atomic such as `tl.atomic_add`; a "
        "second launch comes after the first.",
    ),
    "tile_race_lanes": (
        "Program {program} stores two different values to {array}[{index}] with one tl.store. "
        "Nothing says which of them stays.",
        "Check the offsets: each element of the block needs a place of its own; sum the block "
        "first, or use tl.atomic_add.",
    ),
    "tile_timed_out": (
        "The kernel was stopped after {steps} steps|: program {program} was still running|.",
        "Find the loop whose condition never becomes false: what changes it?",
    ),
    "tile_assertion": (
        "Program {program} fails the kernel's own assertion|: {message}|.",
        "Find out which value breaks it: `tl.device_print` shows one.",
    ),
}
