"""Tensors: click a cell, see its place; permute, copy, view; an index that is out of range."""

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see(r"Index \(1, 2\) lies at position 6\s*1 × 4 \+ 2 × 1 = 4 \+ 2 = 6")
    visit.click("i:2,1")
    visit.see(r"2 × 4 \+ 1 × 1 = 8 \+ 1 = 9")
    visit.click("s:3")
    visit.see(r"Index \(0, 3\) lies at position 3")
    visit.fill("Index", "1, 4")
    visit.see(r"dimension 1 has size 4.*The strides alone would not notice: 1 × 4 \+ 4 × 1 = 8")
    visit.fill("Shape", "2, 3, 2")
    visit.choose("cube")
    visit.click("i:0,2,1")
    visit.see("0 × 6 [+] 2 × 2 [+] 1 × 1")
    visit.select("Permute", "(2, 0, 1)")
    visit.see(r"permute\(2, 0, 1\).*\(2, 2, 3\).*\(1, 6, 2\).*not contiguous, same storage")
    visit.fill("Then view as", "12")
    visit.see("is not possible.*contiguous")
    visit.main.get_by_text("Then contiguous()").click()
    visit.settle()
    visit.see("copied")
    visit.fill("Then view as", "2, 2, 3, 1")
    visit.see(r"Index \(1, 1, 1, 0\) lies at position 10\s*1 × 6 \+ 1 × 3 \+ 1 × 1 \+ 0 × 1")
    visit.fill("Shape", "two")
    visit.see("is not a shape")
    visit.fill("Shape", "2, 3, 2")
    visit.fill("Then view as", "")
    visit.see("one step of dimension 0")
