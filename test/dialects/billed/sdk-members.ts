import { dirname, join } from 'node:path';
import { parsers } from 'prettier/plugins/typescript';
import { isObject, listOf, objectOf, textOf } from '../../../src/core/json/object.ts';
import type { Members } from '../../../src/core/json/original.ts';

/** A file of type declarations. */
interface Module {
  readonly path: string;
  /** The declarations by qualified name, such as `ResponseCreateParams.StreamOptions`. */
  readonly types: ReadonlyMap<string, Members>;
  /** The paths of imported modules, and the name there (`*` for all names), by local name; also names that a namespace repeats. */
  readonly imports: ReadonlyMap<string, { readonly path: string; readonly name: string }>;
}

/** Where names of a declaration are looked up: its module and the namespace around it. */
interface Scope {
  readonly module: Module;
  readonly namespace: string;
}

/** Types of JavaScript itself. The reader reads only their arguments. */
const GLOBAL = new Set(['Array', 'Record', 'ReadonlyArray', 'Partial', 'Uint8Array']);

/** The names of members by the name of their type. */
export type TypeMembers = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Reads the members of request types from the declarations of a client, at any depth. A type without a name has the name of its member:
 * `Tool.options`. A `type` has one entry for each kind: `type=image`. A type of the beta API adds to the type of the same name.
 * @param sources for each file of declarations, the type of a request
 */
export async function sdkMembers(sources: readonly (readonly [path: string, root: string])[]): Promise<TypeMembers> {
  const reader = new MemberReader();
  for (const [path, root] of sources) {
    await reader.readName(root, { module: await reader.module(path), namespace: '' });
  }
  return reader.members;
}

class MemberReader {
  readonly members = new Map<string, Set<string>>();
  readonly #modules = new Map<string, Promise<Module>>();
  readonly #read = new Set<Members>();

  module(path: string): Promise<Module> {
    const known = this.#modules.get(path) ?? moduleAt(path);
    this.#modules.set(path, known);
    return known;
  }

  async readName(name: string, scope: Scope): Promise<void> {
    const found = await this.#find(name, scope);
    if (this.#read.has(found.node)) return;
    this.#read.add(found.node);
    const { node, module } = found;
    const inner = { module, namespace: found.name };
    if (node.type === 'TSTypeAliasDeclaration') return this.#readType(node.typeAnnotation, found.name, inner);
    for (const parent of listOf(node.extends)) await this.readName(nameOf(objectOf(parent).expression), inner);
    await this.#readMembers(listOf(objectOf(node.body).body), found.name, inner);
  }

  async #readMembers(body: readonly unknown[], owner: string, scope: Scope): Promise<void> {
    for (const member of body.map(objectOf)) {
      const annotation = objectOf(member.typeAnnotation).typeAnnotation;
      if (member.type !== 'TSPropertySignature') await this.#readType(annotation, owner, scope);
      else {
        const name = textOf(objectOf(member.key).name) || textOf(objectOf(member.key).value);
        const type = owner.replaceAll(/\bBeta/g, '');
        const names = this.members.get(type) ?? new Set();
        const kinds = name === 'type' ? kindsIn(annotation) : [];
        for (const one of kinds.length > 0 ? kinds.map((kind) => `type=${kind}`) : [name]) names.add(one);
        this.members.set(type, names);
        await this.#readType(annotation, `${owner}.${name}`, scope);
      }
    }
  }

  async #readType(type: unknown, owner: string, scope: Scope): Promise<void> {
    if (!isObject(type)) return;
    if (type.type === 'TSTypeLiteral') return this.#readMembers(listOf(type.members), owner, scope);
    if (type.type === 'TSTypeReference') {
      const name = nameOf(type.typeName);
      if (!GLOBAL.has(name)) await this.readName(name, scope);
    }
    for (const key in type) {
      const inner = type[key];
      for (const one of Array.isArray(inner) ? inner : [inner]) await this.#readType(one, owner, scope);
    }
  }

  /** @throws Error for a name that the declarations do not have, so that no type is left out unnoticed */
  async #find(name: string, { module, namespace }: Scope) {
    for (let around = namespace; ; around = around.slice(0, Math.max(0, around.lastIndexOf('.')))) {
      const qualified = around === '' ? name : `${around}.${name}`;
      const node = module.types.get(qualified);
      if (node) return { node, module, name: qualified };
      if (around === '') break;
    }
    return this.#findImported(name, module);
  }

  async #findImported(name: string, module: Module): Promise<{ node: Members; module: Module; name: string }> {
    const repeated = module.imports.get(name);
    const [first = '', ...rest] = repeated ? [name] : name.split('.');
    const from = repeated ?? module.imports.get(first);
    if (!from) throw new Error(`${module.path} has no type ${name}`);
    const there = from.name === '*' ? rest : [from.name, ...rest];
    return this.#find(there.join('.'), { module: await this.module(from.path), namespace: '' });
  }
}

/** The texts of a type that allows only certain texts; empty for any other type. */
function kindsIn(type: unknown): readonly string[] {
  const { type: kind, literal, types } = objectOf(type);
  if (kind === 'TSUnionType') return listOf(types).flatMap(kindsIn);
  return kind === 'TSLiteralType' ? [textOf(objectOf(literal).value)] : [];
}

async function moduleAt(path: string): Promise<Module> {
  // Most of the text is comments, which would make reading it twice as slow.
  const text = (await Bun.file(path).text()).replaceAll(/\/\*[\s\S]*?\*\//g, '');
  const program: Members = objectOf(await Reflect.apply(parsers.typescript.parse, null, [text, { filepath: path }]));
  const types = new Map<string, Members>();
  const imports = new Map<string, { path: string; name: string }>();
  const addTypes = (body: readonly unknown[], namespace: string): void => {
    for (const statement of body.map(objectOf)) {
      const node = isObject(statement.declaration) ? statement.declaration : statement;
      const name = `${namespace}${nameOf(node.id)}`;
      if (node.type === 'TSModuleDeclaration') addTypes(listOf(objectOf(node.body).body), `${name}.`);
      else if (node.type === 'TSInterfaceDeclaration' || node.type === 'TSTypeAliasDeclaration') types.set(name, node);
      else if (node.type === 'ImportDeclaration') addImports(node);
      else if (node.type === 'ExportNamedDeclaration' && namespace !== '') addRepeated(node, namespace);
    }
  };
  const addRepeated = ({ specifiers }: Members, namespace: string): void => {
    for (const { local, exported } of listOf(specifiers).map(objectOf))
      imports.set(`${namespace}${nameOf(exported)}`, { path, name: nameOf(local) });
  };
  const addImports = ({ source, specifiers }: Members): void => {
    const from = join(dirname(path), textOf(objectOf(source).value).replace(/\.js$/, '.d.ts'));
    for (const { local, imported } of listOf(specifiers).map(objectOf))
      imports.set(nameOf(local), { path: from, name: isObject(imported) ? nameOf(imported) : '*' });
  };
  addTypes(listOf(program.body), '');
  return { path, types, imports };
}

/** The name of an identifier, or of several with dots between them. */
function nameOf(node: unknown): string {
  const { name, left, right, object, property } = objectOf(node);
  if (isObject(left)) return `${nameOf(left)}.${nameOf(right)}`;
  if (isObject(object)) return `${nameOf(object)}.${nameOf(property)}`;
  return textOf(name);
}
