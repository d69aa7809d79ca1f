"""The second process: sends data files to where people have them, by number, and removes what all have sent."""
