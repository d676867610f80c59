"""Two processes and the walls between them: a judge, and a runner that holds one cell's launches.

wire      a launch and its result as plain bytes: no pickle, every size bounded
runner    the untrusted side: preloaded, forks for each check
fork      such a process: the launches of one notebook, one after the other
remote    the judge's side: sends a launch, checks what comes back
walls     what this machine can put around them: bubblewrap, or Landlock with seccomp
cgroups   holds their memory by the kernel, where it can
doctor    says what that is, and how to get more
"""
