"""Sizes before there is a scenario: training, serving, both compared, and what quoted rules of thumb make of them."""
