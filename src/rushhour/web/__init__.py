"""The web server: a playground for experiments, and a frame for what else is looked at in a browser.

    settings   where it listens, who may come in, what may be asked of it
    guard      what every request passes: host, origin, token, size; what every answer carries
    listen     the socket
    app        sections, static files and errors put together to an application
    serve      the application on a socket, from the start to its graceful end
    play/      the playground

A section of the site is a folder with a function that gives a `Section`: its place in the navigation and its
routes; `app.create` lists them.
"""
