"""Given a fleet and traffic: what do users feel?"""
