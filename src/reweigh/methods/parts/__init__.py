"""Parts that several methods are made of; use them to write another one."""
