"""Talking: one call of a conversation, from what is said to the reply.

It is shared by all who hold conversations, and knows of none of them.
"""
