"use strict";

// The figures of a result set, drawn as they come into sight.
Figures.start();
