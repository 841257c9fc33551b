"""Labels as users have them: names, numbers, files, candidates, gaps."""
