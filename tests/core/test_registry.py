"""Registries: names in, classes out, with help for typing mistakes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fewhot.core.errors import DuplicateNameError, FewhotError, UnknownNameError
from fewhot.core.registry import USER_PARTS, Registry, register_part


@pytest.fixture
def registry() -> Iterator[Registry]:
    before = dict(Registry.kinds)
    yield Registry("test shape")
    Registry.kinds.clear()
    Registry.kinds.update(before)


def test_an_entry_is_found_by_its_name_and_named_by_itself(registry: Registry) -> None:
    @registry.register("disc")
    class Disc: ...

    assert registry["disc"] is Disc
    assert registry.name_of(Disc) == "disc"
    assert (list(registry), len(registry), "disc" in registry, "ring" in registry) == (["disc"], 1, True, False)


def test_a_second_entry_of_a_name_is_refused_and_the_first_stays(registry: Registry) -> None:
    @registry.register("disc")
    class Disc: ...

    with pytest.raises(DuplicateNameError, match=r"'disc' is taken by .*Disc; choose another name\.$"):

        @registry.register("disc")
        class Other: ...

    assert registry["disc"] is Disc


def test_the_same_entry_may_be_registered_again(registry: Registry) -> None:
    class Disc: ...

    assert registry.register("disc")(Disc) is registry.register("disc")(Disc) is Disc


def test_an_unknown_name_is_answered_with_the_nearest_and_all_known(registry: Registry) -> None:
    registry.register("disc")(object)
    registry.register("annulus")(int)
    with pytest.raises(
        UnknownNameError, match=r"^No test shape is called 'disk'\. Did you mean 'disc'\? Known: annulus, disc\.$"
    ):
        registry["disk"]


def test_a_name_like_no_other_gets_no_suggestion(registry: Registry) -> None:
    registry.register("disc")(object)
    with pytest.raises(UnknownNameError) as caught:
        registry["wxyz"]
    assert "Did you mean" not in str(caught.value)


def test_a_removed_name_is_free_again(registry: Registry) -> None:
    registry.register("disc")(object)
    registry.remove("disc")
    registry.remove("disc")
    assert registry.register("disc")(int) is registry["disc"]


def test_a_name_belongs_to_exactly_the_registered_class(registry: Registry) -> None:
    class Disc: ...

    class Copy(Disc): ...

    registry.register("disc")(Disc)
    assert registry.name_of(Copy) is None


def test_register_part_makes_a_user_part() -> None:
    class Mine: ...

    try:
        assert register_part("mine-test")(Mine) is Mine
        assert USER_PARTS["mine-test"] is Mine
    finally:
        USER_PARTS.remove("mine-test")


def test_errors_are_both_of_the_family_and_of_the_usual_kind() -> None:
    assert issubclass(UnknownNameError, FewhotError)
    assert issubclass(UnknownNameError, ValueError)
