import type { ASTNode } from './cel-ast.ts';
import {
  DOUBLE,
  type Extent,
  type Extents,
  largerOf,
  listExtent,
  mapOf,
  objectExtent,
  SCALAR,
  textExtent,
} from './cel-extents.ts';
import { methodCost, readSteps } from './cel-function-cost.ts';
import { type CelKind, VARIABLES } from './cel-types.ts';

/** Limit of steps of one expression, about 1 ms. A step is the time to read a name, at most 20 ns. */
export const EXPRESSION_STEPS_MAX = 50_000;

/** Steps of a failure. `||`, `&&`, `all` and `exists` continue after one, so there can be many. */
const FAILURE_STEPS = 400;
/** Steps of each iteration of a comprehension, without its body. */
const ITERATION_STEPS = 4;

/** The worst-case cost of a part of an expression, and the largest extent of its value. */
interface PartCost {
  readonly steps: number;
  readonly extent: Extent;
}

type NameExtents = ReadonlyMap<string, Extent>;

/**
 * The worst-case cost of a type-checked expression: every part is evaluated, and every list, map and text has its largest
 * size. Walks the expression once.
 */
export function costOf(ast: ASTNode, kind: CelKind, extents: Extents) {
  const names = new Map(Object.entries(VARIABLES[kind]).map(([name, type]) => [name, objectExtent(type)]));
  const weigher = new Weigher(extents);
  const { steps } = weigher.part(ast, names);
  return { steps, excess: weigher.excess };
}

class Weigher {
  readonly #extents: Extents;
  /** The smallest part that exceeds `EXPRESSION_STEPS_MAX`; null if the whole expression does not. */
  excess: { readonly node: ASTNode; readonly steps: number } | null = null;

  constructor(extents: Extents) {
    this.#extents = extents;
  }

  part(node: ASTNode, names: NameExtents): PartCost {
    const part = this.#weigh(node, names);
    // Inner parts come first, so the first is the smallest.
    if (part.steps > EXPRESSION_STEPS_MAX) this.excess ??= { node, steps: part.steps };
    return part;
  }

  #weigh(node: ASTNode, names: NameExtents): PartCost {
    switch (node.op) {
      case 'value':
        return { steps: 1, extent: extentOfLiteral(node.args) };
      case 'id':
        return { steps: 1, extent: names.get(node.args) ?? SCALAR };
      case '.':
      case '.?':
        return this.#field(this.part(node.args[0], names), node.args[1]);
      case '[]':
      case '[?]':
        return entryOf(this.part(node.args[0], names), this.part(node.args[1], names));
      case '!_':
      case '-_': {
        const { steps, extent } = this.part(node.args, names);
        return { steps: steps + 1, extent };
      }
      case '?:': {
        const [condition, whenTrue, whenFalse] = node.args;
        const [yes, no] = [this.part(whenTrue, names), this.part(whenFalse, names)];
        const steps = 1 + this.part(condition, names).steps + Math.max(yes.steps, no.steps);
        return { steps, extent: largerOf(yes.extent, no.extent) };
      }
      case 'list': {
        const items = this.#joined(node.args, names);
        return { steps: items.steps, extent: listExtent(node.args.length, items.extent) };
      }
      case 'map': {
        const [keyNodes, valueNodes] = [node.args.map(([key]) => key), node.args.map(([, value]) => value)];
        const [keys, values] = [this.#joined(keyNodes, names), this.#joined(valueNodes, names)];
        return { steps: keys.steps + values.steps, extent: mapOf(node.args.length, keys.extent, values.extent) };
      }
      case 'call':
        return this.#method(node.args[0], node.args[1], names);
      case 'rcall':
        return this.#receiverCall(node.args, names);
      default: {
        const [left, right] = node.args;
        const [a, b] = [this.part(left, names), this.part(right, names)];
        const { steps, extent } = operator(node.op, a.extent, b.extent);
        return { steps: 1 + a.steps + b.steps + steps, extent };
      }
    }
  }

  #field({ steps, extent }: PartCost, field: string): PartCost {
    if (extent.type) return { steps: steps + 1, extent: this.#extents(extent.type, field) };
    return { steps: steps + 1 + (extent.isTotal ? 0 : FAILURE_STEPS), extent: extent.value ?? extent };
  }

  /** Adds the steps of parts that are all evaluated, and joins their extents to the largest. */
  #joined(nodes: readonly ASTNode[], names: NameExtents): PartCost {
    const parts = nodes.map((node) => this.part(node, names));
    const steps = parts.reduce((sum, part) => sum + part.steps, 1);
    const [first, ...more] = parts.map(({ extent }) => extent);
    return { steps, extent: more.reduce(largerOf, first ?? SCALAR) };
  }

  #receiverCall([name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]], names: NameExtents): PartCost {
    const [bound, ...body] = args;
    if (bound?.op === 'id' && name === 'bind' && receiver.op === 'id' && receiver.args === 'cel') {
      return this.#binding(bound.args, body, names);
    }
    const isComprehension = body.length > 0 && bound?.op === 'id' && COMPREHENSIONS.has(name);
    if (!isComprehension) return this.#method(name, [receiver, ...args], names);
    const over = this.part(receiver, names);
    const item = over.extent.item ?? over.extent;
    const inner = new Map(names).set(bound.args, item);
    const parts = body.map((node) => this.part(node, inner));
    const turn = parts.reduce((sum, { steps }) => sum + steps, ITERATION_STEPS);
    const { size } = over.extent;
    const steps = 1 + over.steps + size * turn;
    if (name === 'map') return { steps, extent: listExtent(size, parts.at(-1)?.extent ?? item) };
    return { steps, extent: name === 'filter' ? listExtent(size, item) : SCALAR };
  }

  /** `cel.bind(name, value, expression)`. */
  #binding(name: string, [value, expression]: readonly ASTNode[], names: NameExtents): PartCost {
    if (!value || !expression) return { steps: 1, extent: SCALAR };
    const binding = this.part(value, names);
    const { steps, extent } = this.part(expression, new Map(names).set(name, binding.extent));
    return { steps: 1 + binding.steps + steps, extent };
  }

  #method(name: string, operands: readonly ASTNode[], names: NameExtents): PartCost {
    const parts = operands.map((node) => this.part(node, names));
    const { steps, extent, canFail } = methodCost(
      name,
      parts.map((part) => part.extent),
    );
    const failure = canFail ? FAILURE_STEPS : 0;
    return { steps: parts.reduce((sum, part) => sum + part.steps, 1 + steps + failure), extent };
  }
}

/** Macros that evaluate their last arguments for each entry. */
const COMPREHENSIONS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

function extentOfLiteral(value: unknown): Extent {
  if (typeof value === 'string' || value instanceof Uint8Array) return textExtent(value.length);
  return typeof value === 'number' ? DOUBLE : SCALAR;
}

/** `owner[index]`. */
function entryOf(owner: PartCost, index: PartCost): PartCost {
  const { extent } = owner;
  const steps = 1 + owner.steps + index.steps + (extent.isTotal ? 0 : FAILURE_STEPS);
  return { steps, extent: extent.value ?? extent.item ?? extent };
}

/** An operator without its operands. */
function operator(sign: string, a: Extent, b: Extent): PartCost {
  if (sign === '&&' || sign === '||') return { steps: 0, extent: SCALAR };
  if ('+-*/%'.includes(sign)) return sum(sign, a, b);
  if (sign !== 'in') return { steps: Math.min(readSteps(a), readSteps(b)), extent: SCALAR };
  const each = Math.min(readSteps(a), readSteps(b.item ?? b));
  return { steps: b.kind === 'map' ? 0 : b.size * each, extent: SCALAR };
}

/** Arithmetic on numbers, or `+` on texts or lists. */
function sum(sign: string, a: Extent, b: Extent): PartCost {
  const joined = largerOf(a, b);
  if (sign === '+' && (joined.kind === 'text' || joined.kind === 'list')) {
    const extent = { ...joined, size: a.size + b.size };
    return { steps: joined.kind === 'list' ? extent.size : readSteps(extent), extent };
  }
  const isDouble = joined.kind === 'double';
  return { steps: isDouble ? 0 : FAILURE_STEPS, extent: joined };
}
