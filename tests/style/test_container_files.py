"""What docker/ says twice, here and elsewhere in the project."""
import re

import tree

DOCKERFILE = tree.TOP / "docker/Dockerfile"


def test_the_image_is_built_with_the_packages_that_dev_installs():
    needs = re.search(r"^needs_build='\n(.*?)'", tree.text(tree.TOP / "dev"), re.M | re.S)[1]
    wanted = {line.split()[1] for line in needs.splitlines()}
    stage = re.search(r"AS packages\n(.*?)&& rm ", tree.text(DOCKERFILE), re.S)[1]
    installed = set(re.findall(r"[\w.+-]+", stage.split("--no-install-recommends", 1)[1]))
    assert installed - {"ca-certificates"} == wanted


def test_every_folder_of_the_product_is_copied_into_the_build():
    copied = re.findall(r"^COPY (\w+) \1$", tree.text(DOCKERFILE), re.M)
    assert sorted(copied) == sorted(tree.PRODUCT)


def test_the_readme_leads_to_the_container():
    assert "docker/README.md" in tree.text(tree.TOP / "README.md")


def test_ci_runs_the_suites_that_wait_to_be_named():
    assert re.search(r"^export .*\bQUERN_SUITES=all\b", tree.text(tree.TOP / ".ci/run"), re.M)
