"""How an item of the paper is run, kept, judged, drawn and reported, whatever it shows."""
