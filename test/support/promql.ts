import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

/** What the check knows about a metric. */
export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** The labels of the metric itself and of its target; `le` is added automatically. */
  readonly labels: readonly string[];
  /** The possible values of labels that have a fixed list of values. */
  readonly values?: Readonly<Record<string, readonly string[]>>;
}

export type Metrics = ReadonlyMap<string, Metric>;

/** The result of checking a query without data. */
export interface Judgement {
  /** The faults as text with their location; empty for a query that can return a result. */
  readonly faults: readonly string[];
  /** The labels of each resulting series. */
  readonly labels: readonly string[];
}

type Kind = 'scalar' | 'gauge' | 'counter' | 'bucket' | 'bucket rate';

interface Value {
  readonly kind: Kind;
  readonly labels: ReadonlySet<string>;
  /** The labels for which a matcher allows only one value. */
  readonly pinned: ReadonlySet<string>;
  readonly isRange?: boolean;
}

const NONE: ReadonlySet<string> = new Set();
const SCALAR: Value = { kind: 'scalar', labels: NONE, pinned: NONE };

const OF_COUNTERS = new Set(['rate', 'irate', 'increase', 'resets']);
const OF_GAUGES = new Set(['deriv', 'predict_linear', 'delta', 'idelta', 'double_exponential_smoothing']);
/** Functions that may take a raw counter, because they do not use its value as a figure. */
const OF_ANY = new Set(['absent', 'absent_over_time', 'present_over_time', 'count_over_time', 'timestamp', 'changes']);
const WITHOUT_ARGUMENTS_OF_SERIES = new Set(['time', 'pi', 'scalar', 'minute', 'hour', 'day_of_week', 'month', 'year']);
const SUFFIXES = ['_bucket', '_sum', '_count'] as const;

/** Finds mistakes in a query: wrong syntax, names that no metric has, and functions that do not fit. */
export function judge(query: string, metrics: Metrics): Judgement {
  const tree = parser.parse(query);
  const faults: string[] = [];
  tree.iterate({
    enter(node) {
      if (node.type.isError) faults.push(`${placeIn(query, node.from)}: this is not PromQL`);
    },
  });
  const root = tree.topNode.firstChild;
  if (faults.length > 0 || root === null) return { faults: faults.slice(0, 1), labels: [] };
  const judging = new Judging(query, metrics);
  const value = judging.flat(root);
  return { faults: judging.faults, labels: [...value.labels] };
}

const placeIn = (query: string, at: number): string => `at “${query.slice(at, at + 40).split('\n')[0]}”`;

class Judging {
  readonly faults: string[] = [];
  readonly #query: string;
  readonly #metrics: Metrics;

  constructor(query: string, metrics: Metrics) {
    this.#query = query;
    this.#metrics = metrics;
  }

  /** A value to show or to calculate with. A shown value must not be a raw counter, because a restart resets counters. */
  flat(node: SyntaxNode): Value {
    const value = this.#value(node);
    if (value.kind === 'counter' || value.kind === 'bucket') {
      this.#fault(node, 'is a counter, which tells nothing without rate or increase');
    }
    return value;
  }

  #value(node: SyntaxNode): Value {
    switch (node.name) {
      case 'NumberDurationLiteral':
      case 'StringLiteral':
        return SCALAR;
      case 'VectorSelector':
        return this.#selector(node);
      case 'MatrixSelector':
        return { ...this.#value(first(node)), isRange: true };
      case 'SubqueryExpr':
        return { ...this.flat(first(node)), isRange: true };
      case 'AggregateExpr':
        return this.#aggregate(node);
      case 'FunctionCall':
        return this.#call(node);
      case 'BinaryExpr':
        return this.#binary(node);
      case 'ParenExpr':
      case 'OffsetExpr':
      case 'StepInvariantExpr':
        return this.#value(first(node));
      case 'UnaryExpr':
        return this.flat(node.lastChild ?? node);
      default:
        this.#fault(node, `is a ${node.name}, which this check does not know`);
        return SCALAR;
    }
  }

  #selector(node: SyntaxNode): Value {
    const name = this.#text(node.getChild('Identifier'));
    const found = this.#find(name);
    if (found === null) {
      this.#fault(node, name === '' ? 'names no metric' : 'is exported by nobody');
      return { kind: 'gauge', labels: NONE, pinned: NONE };
    }
    const pinned = new Set<string>();
    for (const matcher of all(node, 'UnquotedLabelMatcher')) {
      const label = this.#text(matcher.getChild('LabelName'));
      const text = this.#text(matcher.getChild('StringLiteral')).slice(1, -1);
      if (!found.labels.has(label)) this.#fault(matcher, `${name} has no label ${label}`);
      const operator = this.#text(matcher.getChild('MatchOp'));
      if (operator === '=') pinned.add(label);
      const known = found.values?.[label];
      if (known) this.#matches(matcher, operator, text, known);
    }
    return { kind: found.kind, labels: found.labels, pinned };
  }

  /** A value that is matched against a fixed list must be on the list; a variable of the dashboard may have any value. */
  #matches(node: SyntaxNode, operator: string, text: string, known: readonly string[]): void {
    if (text.includes('$') || text === '') return;
    const isRegex = operator.includes('~');
    const matched = isRegex ? known.filter((value) => new RegExp(`^(?:${text})$`).test(value)) : [text];
    if (isRegex && /^[\w|]+$/.test(text)) matched.push(...text.split('|'));
    const odd = matched.find((value) => !known.includes(value));
    if (matched.length === 0 || odd !== undefined) this.#fault(node, `there is no such value: ${odd ?? text}`);
  }

  #find(name: string): { kind: Kind; labels: Set<string>; values: Metric['values'] } | null {
    const metric = this.#metrics.get(name);
    if (metric && metric.type !== 'histogram') {
      return { kind: metric.type, labels: new Set(metric.labels), values: metric.values };
    }
    for (const suffix of SUFFIXES) {
      const base = name.endsWith(suffix) ? this.#metrics.get(name.slice(0, -suffix.length)) : undefined;
      if (base?.type !== 'histogram') continue;
      const isBucket = suffix === '_bucket';
      const labels = new Set([...base.labels, ...(isBucket ? ['le'] : [])]);
      return { kind: isBucket ? 'bucket' : 'counter', labels, values: base.values };
    }
    return null;
  }

  #aggregate(node: SyntaxNode): Value {
    const operator = this.#text(node.getChild('AggregateOp'));
    const inner = argumentsOf(node);
    const body = inner.at(-1);
    if (body === undefined) return SCALAR;
    const value = operator === 'count' || operator === 'group' ? this.#value(body) : this.flat(body);
    const modifier = node.getChild('AggregateModifier');
    const names = modifier ? this.#names(modifier.getChild('GroupingLabels')) : [];
    for (const name of names) {
      if (!value.labels.has(name)) this.#fault(modifier ?? node, `what is summed has no label ${name}`);
    }
    if (['topk', 'bottomk', 'limitk', 'limit_ratio'].includes(operator)) return value;
    const isWithout = modifier?.getChild('Without') != null;
    const labels = new Set(isWithout ? [...value.labels].filter((name) => !names.includes(name)) : names);
    if (operator === 'count_values') labels.add(this.#text(inner[0] ?? null).slice(1, -1));
    const keepsBuckets = value.kind === 'bucket rate' && labels.has('le') && operator === 'sum';
    return { kind: keepsBuckets ? 'bucket rate' : 'gauge', labels, pinned: shared(value.pinned, labels) };
  }

  #call(node: SyntaxNode): Value {
    const name = this.#text(node.getChild('FunctionIdentifier'));
    const given = argumentsOf(node);
    if (name === 'vector' || given.length === 0) return { ...SCALAR, kind: name === 'vector' ? 'gauge' : 'scalar' };
    const isQuantile = name === 'histogram_quantile' || name === 'quantile_over_time';
    const subject = given[isQuantile ? 1 : 0] ?? node;
    for (const other of given) if (other !== subject) this.flat(other);
    const value = OF_COUNTERS.has(name) || OF_ANY.has(name) ? this.#value(subject) : this.flat(subject);
    const isCounter = value.kind === 'counter' || value.kind === 'bucket';
    if (OF_COUNTERS.has(name) && !isCounter) this.#fault(node, `${name} of a gauge`);
    if (OF_GAUGES.has(name) && isCounter) this.#fault(node, `${name} of a counter`);
    const needsRange = OF_COUNTERS.has(name) || OF_GAUGES.has(name) || /_over_time$|^changes$/.test(name);
    if (needsRange !== (value.isRange ?? false)) {
      this.#fault(node, needsRange ? `${name} wants a range` : `${name} takes no range`);
    }
    if (name === 'histogram_quantile') return this.#quantile(node, value);
    if (WITHOUT_ARGUMENTS_OF_SERIES.has(name)) return SCALAR;
    if (name === 'absent' || name === 'absent_over_time') {
      return { kind: 'gauge', labels: value.pinned, pinned: value.pinned };
    }
    if (name === 'label_replace' || name === 'label_join') return this.#relabelled(node, given, value);
    const kind = OF_COUNTERS.has(name) && value.kind === 'bucket' ? 'bucket rate' : 'gauge';
    return { kind, labels: value.labels, pinned: value.pinned };
  }

  #quantile(node: SyntaxNode, value: Value): Value {
    if (value.kind !== 'bucket rate' || !value.labels.has('le')) {
      this.#fault(node, 'a quantile is of rates of _bucket, summed by le at least');
    }
    const labels = new Set(value.labels);
    labels.delete('le');
    return { kind: 'gauge', labels, pinned: shared(value.pinned, labels) };
  }

  #relabelled(node: SyntaxNode, given: readonly SyntaxNode[], value: Value): Value {
    const text = (at: number) => this.#text(given[at] ?? null).slice(1, -1);
    const from = text(3);
    if (from !== '' && !value.labels.has(from)) this.#fault(node, `there is no label ${from}`);
    return { ...value, kind: 'gauge', labels: new Set([...value.labels, text(1)]) };
  }

  #binary(node: SyntaxNode): Value {
    // For a counter that did not exist before, the value is the increase.
    const isNew = node.getChild('Unless') !== null && this.#text(node.lastChild).startsWith('present_over_time(');
    const left = isNew ? this.#value(first(node)) : this.flat(first(node));
    const right = this.flat(node.lastChild ?? node);
    if (left.kind === 'scalar') return { ...right, kind: right.kind === 'scalar' ? 'scalar' : 'gauge' };
    if (right.kind === 'scalar') return { ...left, kind: 'gauge' };
    const clause = node.getChild('MatchingModifierClause');
    const [matched = null, included = null] = clause ? all(clause, 'GroupingLabels') : [];
    const names = this.#names(matched);
    const isOn = clause?.getChild('On') != null;
    for (const side of [left, right]) {
      for (const name of names) {
        if (isOn && !side.labels.has(name)) this.#fault(node, `one side has no label ${name}`);
      }
    }
    const keysOf = ({ labels }: Value) => (isOn ? names : [...labels].filter((name) => !names.includes(name)));
    if (!isOn && keysOf(left).sort().join() !== keysOf(right).sort().join()) {
      this.#fault(node, `{${[...left.labels]}} and {${[...right.labels]}} never match`);
    }
    if (node.getChild('Or')) {
      return { kind: 'gauge', labels: shared(left.labels, right.labels), pinned: shared(left.pinned, right.pinned) };
    }
    if (node.getChild('And') || node.getChild('Unless')) return { ...left, kind: 'gauge' };
    return this.#matched(node, left, right, { keys: keysOf(left), included: this.#names(included), clause });
  }

  /** The “one” side of a match must have one series for each combination of the matched labels, or the query fails at run time. */
  #matched(
    node: SyntaxNode,
    left: Value,
    right: Value,
    { keys, included, clause }: { keys: readonly string[]; included: readonly string[]; clause: SyntaxNode | null },
  ): Value {
    const isLeft = clause?.getChild('GroupLeft') != null;
    const isRight = clause?.getChild('GroupRight') != null;
    const ones = isLeft ? [right] : isRight ? [left] : [left, right];
    for (const { labels, pinned } of ones) {
      const open = [...labels].filter((name) => !keys.includes(name) && !pinned.has(name) && !included.includes(name));
      if (open.length > 0) this.#fault(node, `several series can differ in ${open}`);
    }
    const one = isRight ? left : right;
    for (const name of included) if (!one.labels.has(name)) this.#fault(node, `there is no label ${name} to take over`);
    if (!isLeft && !isRight)
      return { kind: 'gauge', labels: new Set(keys), pinned: shared(left.pinned, new Set(keys)) };
    const many = isRight ? right : left;
    return { kind: 'gauge', labels: new Set([...many.labels, ...included]), pinned: many.pinned };
  }

  #names(grouping: SyntaxNode | null): string[] {
    return grouping ? all(grouping, 'LabelName').map((name) => this.#text(name)) : [];
  }

  #text(node: SyntaxNode | null): string {
    return node ? this.#query.slice(node.from, node.to) : '';
  }

  #fault(node: SyntaxNode, what: string): void {
    this.faults.push(`${placeIn(this.#query, node.from)}: ${what}`);
  }
}

const shared = (one: ReadonlySet<string>, other: ReadonlySet<string>) => new Set([...one].filter((x) => other.has(x)));

function first(node: SyntaxNode): SyntaxNode {
  return node.firstChild ?? node;
}

function argumentsOf(node: SyntaxNode): SyntaxNode[] {
  const body = node.getChild('FunctionCallBody');
  return body ? all(body) : [];
}

/** Returns all children, or those with a name. The grammar nests the items of a list, so the function also searches deeper. */
function all(node: SyntaxNode, name?: string): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) {
    if (name === undefined || child.name === name) found.push(child);
    else if (child.name === 'LabelMatchers') found.push(...all(child, name));
  }
  return found;
}
