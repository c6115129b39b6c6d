"""One door to the machine: no module outside this folder names a vendor's library."""
