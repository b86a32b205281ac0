"""The pictures of README and docs/, made from runs of the version at hand: `make pictures`.

made       what each was made of, kept beside them
stage      a browser, a server, a kernel with one number changed
moving     the moving picture of README
stills     pages, as a browser shows them
"""
