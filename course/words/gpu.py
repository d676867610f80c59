"""Sentences on this machine's own GPU: what it made of a right kernel, or why it did not run it."""

from __future__ import annotations

_SEND = "Please send your cell and this line to whoever gave you the course."
_HOLDS = "The verdict stands: it is the engine's."
_LEAVE = f"{_HOLDS} `COURSE_GPU=off` leaves the GPU alone."

GPU: dict[str, tuple[str, str]] = {
    "gpu_called": (
        "{name}| (a MIG slice of it, {part})|| (by CUDA_VISIBLE_DEVICES={visible})|| (the first of "
        "{count}; CUDA_VISIBLE_DEVICES chooses another)|",
        "",
    ),
    "gpu_lacks": (
        "This machine's {gpu} (compute capability {capability}) has {lacking}.",
        "Every exercise can be solved here all the same: the engine checks it, and its verdict "
        "holds.",
    ),
    "gpu_right": ("On this machine's {gpu}: right on all {cases} cases.", ""),
    "gpu_timed": (
        "{case} takes {us} us ({low_us} to {high_us}, the L2 cleared before each run)"
        "|: {rate} GB/s of the bytes that have to move|"
        "|, {share} of the {copy} GB/s that a copy reaches here|"
        "|: {operations} TFLOP/s|"
        "|, {share} of the {product} that PyTorch's {dtype} product reaches here|"
        "|, most of which any launch takes, however little it does{short}|.",
        "",
    ),
    "gpu_slower": (
        "The GPU's clock fell from {before} to {after} MHz meanwhile: other runs may be faster.",
        "",
    ),
    "gpu_untimed": (
        "{full} was not timed: {detail}.",
        "",
    ),
    "gpu_no_room": ("{full} was not timed: memory has no room for it.", ""),
    "gpu_full_wrong": (
        "At full size, {case}, it gives another answer. No case of the check is as large.",
        "What holds in small cases alone: an index or a number of blocks, or that two blocks "
        "never meet? If you find nothing, send your cell and this line to whoever gave you the "
        "course.",
    ),
    "gpu_full_stopped": (
        "At full size, {full}, the GPU stopped it: {detail}. No case of the check is as large.",
        "What holds in small cases alone: an index or a number of blocks? If you find nothing, "
        "send your cell and this line to whoever gave you the course.",
    ),
    "gpu_wrong": (
        "On this machine's {gpu} this kernel gives another answer for {case}, and the engine calls "
        "it right. That is a defect of the course, not of your kernel.",
        _SEND,
    ),
    "gpu_other": (
        "This machine's {gpu} did not run it: the kernel is written for compute capability "
        "{capability} alone.",
        "The verdict is the engine's, and holds.",
    ),
    "gpu_stopped": (
        "This machine's GPU stopped it: {detail}. The engine found nothing wrong in it, so this is "
        "a defect of the course, not of your kernel.",
        _SEND,
    ),
    "gpu_fault": ("This machine's GPU did not run it: {detail}.", _HOLDS),
    "gpu_late": ("This machine's GPU was not done after {seconds} s, and was stopped.", _HOLDS),
    "gpu_memory": (
        "This machine's GPU did not run it: its memory has no room.",
        f"`nvidia-smi` lists the programs that hold it, another notebook perhaps. {_HOLDS}",
    ),
    "gpu_busy": (
        "This machine's GPU did not run it: another program has the GPU for itself.",
        "`nvidia-smi` lists programs, this notebook among them if it has launched there; the next "
        f"right check asks again. {_HOLDS}",
    ),
    "gpu_no_driver": (
        "This machine shows an NVIDIA GPU, and no driver answers for it.",
        "Install NVIDIA's driver, 580 or later, and see that `nvidia-smi` lists the GPU; a "
        f"container has to be started with it (`--gpus all`). {_LEAVE}",
    ),
    "gpu_old_driver": (
        "This machine's NVIDIA driver is too old for what is installed here|: it knows CUDA "
        "{cuda}|.",
        f"Update the driver to 580 or later (`nvidia-smi` shows which it is). {_LEAVE}",
    ),
    "gpu_driver_parts": (
        "This machine's NVIDIA driver was updated while it ran: its parts do not fit each other.",
        f"Restart the machine; a container, with the host's driver. {_LEAVE}",
    ),
    "gpu_cpu_torch": (
        "This machine shows an NVIDIA GPU, and PyTorch here is its build for CPUs.",
        "Install the build for CUDA (https://pytorch.org/get-started), and Triton's kernels run on "
        f"the GPU, too. {_LEAVE}",
    ),
    "gpu_no_nvvm": (
        "This machine shows an NVIDIA GPU, and Numba finds no compiler for it (NVVM).",
        '`pip install "numba-cuda[cu13]<0.31"` brings one (`cu12` for a driver before 580). '
        f"{_LEAVE}",
    ),
    "gpu_numbas_own_target": (
        "This machine's GPU did not run it: the CUDA target inside Numba does not compile `min` "
        "and `max`.",
        '`pip install "numba-cuda[cu13]<0.31"` puts one in its place that does (`cu12` for a '
        f"driver before 580). {_HOLDS}",
    ),
    "gpu_old": (
        "This machine's {gpu} is too old for what is installed here|: its compute capability is "
        "{capability}|.",
        f"The course's kernels are compiled for 7.5 (a T4, an RTX 20) and later. {_LEAVE}",
    ),
    "gpu_ecc": (
        "This machine's GPU has found an error in its memory that it cannot correct (ECC): nothing "
        "runs there until it is reset.",
        "Tell whoever looks after the machine (`nvidia-smi -q -d ECC`); a restart resets the GPU. "
        f"{_LEAVE}",
    ),
    "gpu_context_lost": (
        "The GPU has stopped a kernel that was launched before ({detail}), and with it this "
        "process's hold on the GPU: from now on every launch and every tensor there fails.",
        "Restart the notebook's kernel (Kernel, Restart). To find the mistake, check the kernel "
        "with `ex.NAME.check`, whose GPU runs are in a process of their own, or launch it inside "
        "`with course.measure():`, where the engine names the line.",
    ),
    "profile_no_gpu": ("This machine shows no NVIDIA GPU, and a profile is made of one.", ""),
    "profile_refused": ("Counters refused: {why}", ""),
    "profile_none": ("Nsight Compute saw no launch of `{kernel}`.", ""),
    "profile_head": ("{kernel} at {case}, one launch under Nsight Compute:", ""),
    "profile_memory": (
        "- DRAM at {dram_percent} % of its peak|, L2 at {l2_percent} %||, L1 and shared memory at "
        "{l1_percent} %|",
        "",
    ),
    "profile_sectors": (
        "- sectors a request to load: |{l1} from L1||, {l2} of them from L2|",
        "",
    ),
    "profile_pipes": ("- tensor cores at {tensor_percent} %|, FMA at {fma_percent} %|", ""),
    "profile_warps": ("- {occupancy_percent} % of an SM's warps there; they wait for {stall}", ""),
    "limit_blocks": (
        "What limits it: too few blocks. The launch does not fill the GPU once|: {waves} waves|.",
        "More blocks, each with less to do.",
    ),
    "limit_spills": (
        "What limits it: registers that spilled|: {local_load_sectors} sectors of them were "
        "loaded|.",
        "Fewer numbers a thread or a program.",
    ),
    "limit_dram": (
        "What limits it: DRAM.",
        "Which bytes need not move? Where each has to, fuse the kernel with its neighbours.",
    ),
    "limit_l1": (
        "What limits it: L1 and shared memory.",
        "More outputs a thread, kept in registers; and do banks conflict?",
    ),
    "limit_l2": (
        "What limits it: L2.",
        "Larger tiles, so that fewer bytes come from there.",
    ),
    "limit_tensor": (
        "What limits it: the tensor cores, as it should be.",
        "Fewer or shorter operations: a narrower type, a tile that nobody needs.",
    ),
    "limit_instructions": (
        "What limits it: instructions.",
        "Fewer of them: a loop unrolled, no index arithmetic in it.",
    ),
    "limit_none": (
        "What limits it: no unit is full, its warps wait, most of all for {stall}.",
        "More warps there at once, or more loads on their way before the first is used.",
    ),
    "estimate_head": (
        "{kernel} at {case} on an {gpu}: an estimate. A few blocks of each launch ran on the "
        "engine, at full size.",
        "",
    ),
    "estimate_held": (
        "{kernel}: {blocks} blocks of {warps} warps, {registers} registers a thread, {shared} "
        "bytes of shared memory; an SM holds {an_sm} blocks, {occupancy} % of its warps; {waves} "
        "waves.",
        "",
    ),
    "estimate_time": ("Together about {us} us.", ""),
    "estimate_waits": (
        "What limits it: no unit is full, its warps wait.",
        "More warps there at once, or more loads on their way before the first is used.",
    ),
    "estimate_worth": (
        "Of {runs} recorded runs that it was not fitted to, such an estimate was within {within} "
        "times of the time for {time} %, and named the limit of {limit} % of the {limits} whose "
        "limit is known.",
        "",
    ),
    "estimate_refused": (
        "No rates of a GPU called {gpu} are recorded here, and none are guessed. Known: {known}.",
        "",
    ),
    "estimate_other": (
        "No estimate for an {gpu}: the kernel is written for compute capability {capability} "
        "alone.",
        "",
    ),
    "estimate_none": ("No estimate of {case}: {why}", ""),
    "unit_dram": ("DRAM", ""),
    "unit_dram_work": ("{bytes} at the {rate} GB/s of a copy", ""),
    "unit_l2": ("L2", ""),
    "unit_l2_work": ("{bytes}|, and {atomics} of atomics|, at {rate} GB/s", ""),
    "unit_l1": ("L1, shared memory", ""),
    "unit_l1_work": ("{turns} turns|, {conflicts} of them bank conflicts|", ""),
    "unit_issue": ("issue slots", ""),
    "unit_issue_work": (
        "{instructions} instructions of warps|, {fma} of them multiply-adds||, {a_byte} a byte|",
        "",
    ),
    "unit_special": ("special functions", ""),
    "unit_special_work": ("{instructions} instructions of warps", ""),
    "unit_tensor": ("tensor cores", ""),
    "unit_tensor_work": ("{flop} FLOP, of float16 {rate} TFLOP/s", ""),
    "unit_starts": ("blocks begun", ""),
    "unit_starts_work": ("{blocks}, one after the other on each SM", ""),
    "unit_latency": ("waiting", ""),
    "unit_latency_work": ("for memory in a block, {waits}; wave after wave", ""),
    "stall_long_scoreboard": ("global or local memory", ""),
    "stall_short_scoreboard": ("shared memory or a special function", ""),
    "stall_barrier": ("a barrier", ""),
    "stall_math_pipe_throttle": ("a busy arithmetic pipe", ""),
    "stall_mio_throttle": ("the queue to shared memory", ""),
    "stall_lg_throttle": ("the queue to global memory", ""),
    "stall_wait": ("the fixed time of an instruction", ""),
    "stall_not_selected": ("their turn: there are warps enough", ""),
    "stall_no_instruction": ("instructions to be fetched", ""),
    "stall_gmma": ("products of the tensor cores", ""),
    "stall_membar": ("a memory fence", ""),
    "stall_branch_resolve": ("a branch to be decided", ""),
    "stall_dispatch_stall": ("the dispatcher", ""),
    "stall_drain": ("stores to be done at the end", ""),
    "stall_imc_miss": ("constants to be fetched", ""),
    "stall_sleeping": ("the end of a sleep", ""),
}
