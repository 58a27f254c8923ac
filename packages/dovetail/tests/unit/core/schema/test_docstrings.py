from __future__ import annotations

from dovetail.core.schema import Description, parse_docstring


def test_no_docstring_is_an_empty_description() -> None:
    assert parse_docstring(None) == Description()
    assert parse_docstring("") == Description("", {}, None)


def test_plain_text_is_the_summary_as_a_whole() -> None:
    text = """Add two numbers.

    Note: this is a sentence, and so is
    the: next.
    """
    found = parse_docstring(text)
    assert found.summary == "Add two numbers.\n\nNote: this is a sentence, and so is\nthe: next."
    assert found.parameters == {}
    assert found.returns is None


def test_google_style() -> None:
    found = parse_docstring(
        """Find a city.

        More about it.

        Example:
            find("x")

        Args:
            city (str): The name,
                as people say it.
            days (int, optional): How many.
            *names: More names.
            bare:

            **options: The rest.

        Returns:
            dict[str, int]: The weather.

        Raises:
            KeyError: never
        """
    )
    assert found.summary == 'Find a city.\n\nMore about it.\n\nExample:\n    find("x")'
    assert found.parameters == {
        "city": "The name, as people say it.",
        "days": "How many.",
        "names": "More names.",
        "bare": "",
        "options": "The rest.",
    }
    assert found.returns == "The weather."


def test_google_style_with_an_untyped_result_and_text_that_is_no_entry() -> None:
    found = parse_docstring(
        """Do.

        Args:
            this line is no entry
            x: An x.
        Yields:
            Numbers, one by one.
        And text after it.
        """
    )
    assert found.summary == "Do."
    assert found.parameters == {"x": "An x."}
    assert found.returns == "Numbers, one by one."


def test_a_google_section_that_does_not_end_the_description_leaves_plain_text() -> None:
    assert parse_docstring("Do.\n\nNote:\n    Careful.").summary == "Do.\n\nNote:\n    Careful."


def test_an_empty_google_result_is_no_result() -> None:
    assert parse_docstring("Do.\n\nReturns:\n").returns is None


def test_numpy_style() -> None:
    found = parse_docstring(
        """Find a city.

        Parameters
        ----------
        city : str
            The name,
            as people say it.
        lat, lon : float
            Where it is.
        *names
            More.

        Returns
        -------
        dict
            The weather.

        Notes
        -----
        None.
        """
    )
    assert found.summary == "Find a city."
    assert found.parameters == {
        "city": "The name, as people say it.",
        "lat": "Where it is.",
        "lon": "Where it is.",
        "names": "More.",
    }
    assert found.returns == "The weather."


def test_numpy_style_with_a_bare_result_and_text_before_the_first_entry() -> None:
    found = parse_docstring(
        "Do.\n\nParameters\n----------\n    lost\nx : int\n    An x.\n\nReturns\n-------\nint"
    )
    assert found.parameters == {"x": "An x."}
    assert found.returns == "int"


def test_a_numpy_section_that_does_not_end_the_description_leaves_plain_text() -> None:
    text = "Do.\n\nNotes\n-----\nCareful."
    assert parse_docstring(text).summary == text


def test_sphinx_style() -> None:
    found = parse_docstring(
        """Find a city.

        :param city: The name,
            as people say it.
        :param int days: How many.
        :type days: int
        :param: nothing
        :returns: The weather.
        :raises KeyError: never
        """
    )
    assert found.summary == "Find a city."
    assert found.parameters == {"city": "The name, as people say it.", "days": "How many."}
    assert found.returns == "The weather."
