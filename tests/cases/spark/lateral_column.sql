select age + 1 as older, older * 2 as twice from people
