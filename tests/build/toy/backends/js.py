NAME = "js"
