"""`servemix new`: a first scenario that can be optimised, and which of its filled values matter."""
