"""The messages of XLA's HLO protos, generated from hlo.proto."""
