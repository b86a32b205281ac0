"""A diagnosis for people: on the terminal (`screen`) and as one offline page (`page`)."""
