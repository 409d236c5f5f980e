"""The forms of a bundle, by name."""

from webkiln.recipe.form import Form

PACKAGE = {
    "name": "@me/fake",
    "version": "1.2.3",
    "license": "MIT",
    "description": "y = x * w + total",
}
FORMS = {
    "folder": Form(),
    "hashed": Form(hashed=True),
    "npm": Form("npm", package=PACKAGE),
    "npm-hashed": Form("npm", hashed=True, package=PACKAGE),
    "single": Form("single"),
}
