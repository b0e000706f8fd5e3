"""Broadcasting: the rules, the copies, the sums; two shapes that do not fit."""

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see(r"shape_broadcast gives \(3, 4\)")
    visit.see("Copies: 9 of the first and 8 of the second")
    visit.click("o:1,2")
    visit.see(r"takes \(1, 0\) of the first and \(0, 2\) of the second: 2 \+ 30 = 32")
    visit.click("g:1,0")
    visit.see(r"5 \+ 6 \+ 7 \+ 8 = 26")
    visit.choose("second")
    visit.see(r"1 \+ 5 \+ 9 = 15")
    visit.press("(3, 4) and (3,)")
    visit.see("Dimension -1: 4 and 3 → it fails here; 4 and 3 differ")
    visit.see("shape_broadcast refuses these shapes")
    visit.fill("Second shape", "5 x 2")
    visit.see("is not a shape")
    visit.press("(2, 3, 4) and (4,)")
    visit.see(r"shape_broadcast gives \(2, 3, 4\)")
    visit.see("was used 6 times: 1 [+] 5")
