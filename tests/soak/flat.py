"""Whether a figure that was looked at again and again stays where it is."""


def slope(points):
    """Least squares over (second, value): units per second."""
    count = len(points)
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if spread == 0:
        raise ValueError("a trend needs looks at different times")
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def second_half(points):
    middle = (points[0][0] + points[-1][0]) / 2
    return [point for point in points if point[0] >= middle]


def why_not_flat(points, growth_max, spread_max):
    """None, or what is wrong: over the second half of the looks a straight line through them may
    rise by growth_max from end to end, and the lowest and the highest may be spread_max apart.

    Falling is no complaint of the line: only what rises without an end is a leak.
    """
    late = second_half(points)
    if len(late) < 5:
        return "only %d looks: too few to tell" % len(late)
    values = [value for _, value in late]
    growth = slope(late) * (late[-1][0] - late[0][0])
    if growth > growth_max:
        return "grows by %.1f in %.0f s, at most %.1f is allowed" % (
            growth, late[-1][0] - late[0][0], growth_max)
    if max(values) - min(values) > spread_max:
        return "lies between %.1f and %.1f, at most %.1f apart is allowed" % (
            min(values), max(values), spread_max)
    return None
