"""Graphs in text form."""

STATEFUL = """\
graph counter
input x: float32[1,3] N,C
input noise: float32[1,3] N,C ~ uniform(maxval=1.0, minval=-0.5)
slot start: float32[]
const flags: bool[2] = [true,false]
const limits: float32[2] = [-1.5,{"float":"inf"}]
state total start next -> total: float32[]
sum: float32[] = ReduceSum(x) {"axes":[0,1]} @counter
next: float32[] = Add(total, sum) @counter
output y = next
"""
