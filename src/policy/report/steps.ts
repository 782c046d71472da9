/** Runs steps without pauses. */
export function atOnce<Result>(steps: Generator<undefined, Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Maps items, and pauses after each item so that a server can answer requests. */
export function* inSteps<Item, Made>(items: Iterable<Item>, make: (item: Item) => Made): Generator<undefined, Made[]> {
  const made: Made[] = [];
  for (const item of items) {
    made.push(make(item));
    yield;
  }
  return made;
}
