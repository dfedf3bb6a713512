"""One HLO module: its bytes, text, outline, instructions and proto forms."""
