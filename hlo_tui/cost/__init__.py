"""What the operations of a module cost: floating-point operations, bytes moved, and bytes between devices."""
