"""The screens of what the compiler did."""
