"""The patterns of the linear symbologies, as their standards define them."""

from __future__ import annotations

__all__ = [
    "CODABAR",
    "CODE39",
    "CODE128",
    "CODE128_CHANGE",
    "CODE128_START",
    "CODE128_STOP",
    "EAN13_PARITY",
    "EAN_SETS",
    "ITF",
    "UPCE_PARITY",
]


def _words(text: str) -> list[str]:
    return text.split()


_EAN_L = _words("0001101 0011001 0010011 0111101 0100011 0110001 0101111 0111011 0110111 0001011")
_EAN_R = [code.translate(str.maketrans("01", "10")) for code in _EAN_L]

EAN_SETS: dict[str, list[str]] = {"L": _EAN_L, "R": _EAN_R, "G": [code[::-1] for code in _EAN_R]}
EAN13_PARITY = _words("LLLLLL LLGLGG LLGGLG LLGGGL LGLLGG LGGLLG LGGGLL LGLGLG LGLGGL LGGLGL")
# For number system 0; system 1 has the sets the other way round.
UPCE_PARITY = _words("GGGLLL GGLGLL GGLLGL GGLLLG GLGGLL GLLGGL GLLLGG GLGLGL GLGLLG GLLGLG")

# Narrow and wide: bars of one digit, gaps of the next.
ITF = _words("nnwwn wnnnw nwnnw wwnnn nnwnw wnwnn nwwnn nnnww wnnwn nwnwn")

# Nine elements, a bar first.
CODE39: dict[str, str] = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-. *$/+%",
        _words(
            "nnnwwnwnn wnnwnnnnw nnwwnnnnw wnwwnnnnn nnnwwnnnw wnnwwnnnn nnwwwnnnn nnnwnnwnw "
            "wnnwnnwnn nnwwnnwnn wnnnnwnnw nnwnnwnnw wnwnnwnnn nnnnwwnnw wnnnwwnnn nnwnwwnnn "
            "nnnnnwwnw wnnnnwwnn nnwnnwwnn nnnnwwwnn wnnnnnnww nnwnnnnww wnwnnnnwn nnnnwnnww "
            "wnnnwnnwn nnwnwnnwn nnnnnnwww wnnnnnwwn nnwnnnwwn nnnnwnwwn wwnnnnnnw nwwnnnnnw "
            "wwwnnnnnn nwnnwnnnw wwnnwnnnn nwwnwnnnn nwnnnnwnw wwnnnnwnn nwwnnnwnn nwnnwnwnn "
            "nwnwnwnnn nwnwnnnwn nwnnnwnwn nnnwnwnwn"
        ),
        strict=True,
    )
)

# Seven elements, a bar first.
CODABAR: dict[str, str] = dict(
    zip(
        "0123456789-$:/.+ABCD",
        _words(
            "nnnnnww nnnnwwn nnnwnnw wwnnnnn nnwnnwn wnnnnwn nwnnnnw nwnnwnn nwwnnnn wnnwnnn "
            "nnnwwnn nnwwnnn wnnnwnw wnwnnnw wnwnwnn nnwnwnw nnwwnwn nwnwnnw nnnwnww nnnwwwn"
        ),
        strict=True,
    )
)

# Widths of bars and gaps in turn.
CODE128 = _words(
    "212222 222122 222221 121223 121322 131222 122213 122312 132212 221213 221312 231212 "
    "112232 122132 122231 113222 123122 123221 223211 221132 221231 213212 223112 312131 "
    "311222 321122 321221 312212 322112 322211 212123 212321 232121 111323 131123 131321 "
    "112313 132113 132311 211313 231113 231311 112133 112331 132131 113123 113321 133121 "
    "313121 211331 231131 213113 213311 213131 311123 311321 331121 312113 312311 332111 "
    "314111 221411 431111 111224 111422 121124 121421 141122 141221 112214 112412 122114 "
    "122411 142112 142211 241211 221114 413111 241112 134111 111242 121142 121241 114212 "
    "124112 124211 411212 421112 421211 212141 214121 412121 111143 111341 131141 114113 "
    "114311 411113 411311 113141 114131 311141 411131 211412 211214 211232 2331112"
)
CODE128_START = {"A": 103, "B": 104, "C": 105}
CODE128_CHANGE = {"A": 101, "B": 100, "C": 99}
CODE128_STOP = 106
