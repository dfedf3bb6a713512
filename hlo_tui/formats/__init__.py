"""Every kind of file in a dump that is not HLO: what it is, what is in it, how it reads, and how stages are linked."""
