"""What pyproject.toml cannot say: the sample scenarios of the checkout are a package of the wheel, so that `new` finds them."""

from setuptools import find_packages, setup

SAMPLES = {"servemix.samples": "scenarios", "servemix.samples.measured": "scenarios/measured"}

setup(packages=[*find_packages(include=["servemix*", "sim*", "optimize*"]), *SAMPLES], package_dir=SAMPLES)
