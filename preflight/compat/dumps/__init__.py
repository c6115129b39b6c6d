"""Reading pasted text: what each tool prints, as facts with the lines that they stand on."""
