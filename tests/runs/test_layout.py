import json

import pytest

from casebook.errors import InputError
from casebook.runs.layout import check_tenant, data_root, locate


def test_where_things_lie(results, monkeypatch):
    assert locate().root == results
    assert locate().home == results / "insurance" / "runs"
    assert locate(domain="claims").root == results / "claims" / "runs"
    own = results / "insurance" / "tenants" / "acme"
    assert locate(tenant="acme").root == own / "runs"
    assert locate(tenant="acme").data == data_root() / "tenants" / "acme"
    monkeypatch.setenv("EMBEDDINGSHIFT_TENANT", "acme")
    assert locate().root == own / "runs"
    monkeypatch.setenv("CASEBOOK_TENANT", "other")
    assert locate().tenant == "other"
    assert locate(tenant="third").tenant == "third"


@pytest.mark.parametrize("name", ["../b", "a/b", "a\\b", "CON", ".", "a..b", " ", "é"])
def test_names_are_validated(name, monkeypatch):
    with pytest.raises(InputError, match="not allowed"):
        locate(tenant=name)
    with pytest.raises(InputError, match="not allowed"):
        locate(domain=name)
    if name.strip():
        monkeypatch.setenv("CASEBOOK_TENANT", name)
        with pytest.raises(InputError, match="not allowed"):
            locate()


def test_names_that_differ_in_case_only_are_refused(registry_of):
    registry_of(tenant="acme").add("r1", 0.5)
    with pytest.raises(InputError, match="letter case"):
        locate(tenant="Acme")
    with pytest.raises(InputError, match="letter case"):
        registry_of(tenant="acme").add("R1", 0.5)


def test_a_tenant_never_reads_another_ones_runs(registry_of, registry, results):
    a, b = registry_of(tenant="a"), registry_of(tenant="b")
    a.add("secret", 0.9)
    b.add("own", 0.1)
    registry.add("shared", 0.5)
    assert [run.run_id for run in b.read().runs] == ["own"]
    # Neither the default registry nor a root above the tenants shows them.
    for everyone in (registry_of(), registry_of(runs_root=results)):
        assert [run.run_id for run in everyone.read().runs] == ["shared"]
    assert [run.run_id for run in registry.read().runs] == ["shared"]


def test_a_tenant_cannot_name_another_ones_folder(registry_of, results, tmp_path):
    a = registry_of(tenant="a")
    a.add("secret", 0.9)
    link = tmp_path / "link"
    link.symlink_to(a.layout.root)
    for root in (a.layout.root, link, a.layout.root / "PosNeg"):
        for tenant in ("b", None):
            with pytest.raises(InputError, match="belongs to tenant a"):
                locate(tenant=tenant, runs_root=root)
    assert locate(tenant="a", runs_root=link).root == a.layout.root
    with pytest.raises(InputError, match="belongs to tenant"):
        check_tenant(results / "x" / "tenants" / "a" / ".." / "b", "a")


def test_links_into_another_tenant_are_not_followed(registry_of):
    a, b = registry_of(tenant="a"), registry_of(tenant="b")
    a.add("secret", 0.9)
    b.add("own", 0.1)
    (b.layout.root / "trick").symlink_to(a.layout.root)
    assert [run.run_id for run in b.read().runs] == ["own"]


def test_a_copied_run_of_another_tenant_is_unreadable(registry_of):
    a, b = registry_of(tenant="a"), registry_of(tenant="b")
    text = (a.add("secret", 0.9) / "run.json").read_text()
    assert json.loads(text)["Tenant"] == "a"
    copy = b.layout.root / "copy" / "run.json"
    copy.parent.mkdir(parents=True)
    copy.write_text(text)
    listing = b.read()
    assert not listing.runs
    assert listing.unreadable == {"copy/run.json": "belongs to tenant a"}
