"""What is kept and how it is asked: one PostgreSQL store; imports no other package of ours."""
