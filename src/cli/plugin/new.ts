import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkCommand, policyArgument } from '../../admin/use-cases/policy/folder-words.ts';
import { PLUGIN_KIND_NAMES, type PluginKind } from '../../contract/kinds.ts';
import { commandName } from '../../core/command-name.ts';
import { shellWord } from '../../core/text/shell-word.ts';
import { messageOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import { PACKAGE_NAME, PACKAGE_ROOT, PACKAGED_PLUGIN_MODULE, SOURCES_ROOT, shippedFolder } from '../../host/program.ts';
import { editablePolicies } from '../../server/shipped-policies.ts';
import { parseArguments, TEXT } from '../arguments.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import type { CommandResult } from '../result.ts';
import { jsonText, pathText } from '../text.ts';

/** The form of a plugin's name. With a prefix, the plugin's name is also a valid name of an npm package. */
const NAME = /^[a-z][a-z0-9-]{0,63}$/;

const TEMPLATES = shippedFolder('src/tools/plugin/templates');
/**
 * Returns the path of the module `signalbox/plugin` for tsconfig.json. In a project that has the package, the path is relative, so that it
 * holds on every machine. The single program has no such module: its user installs the package into the plugin's folder.
 */
function contractFor(folder: string): string {
  if (SOURCES_ROOT !== null) return join(SOURCES_ROOT, 'src/contract/plugin.ts');
  if (PACKAGE_ROOT === null) return `./node_modules/${PACKAGE_NAME}/${PACKAGED_PLUGIN_MODULE}`;
  const module = join(PACKAGE_ROOT, PACKAGED_PLUGIN_MODULE);
  const project = PACKAGE_ROOT.slice(0, PACKAGE_ROOT.lastIndexOf('/node_modules/') + 1);
  if (project === '' || !`${folder}/`.startsWith(project)) return module;
  return localPath(folder, module);
}

/** Returns the path from a folder to a file. TypeScript and policies refuse a path without the leading `./`. */
function localPath(folder: string, file: string): string {
  const path = relative(folder, file);
  return path.startsWith('.') ? path : `./${path}`;
}

/** `signalbox plugin new` */
export const pluginNew: CommandDefinition = {
  usesData: false,
  use: 'to start a plugin of your own.',
  example: 'plugin new strategy cheapest',
  usage: `${PLUGIN_KIND_NAMES.join('|')} NAME [--dir DIR]`,
  summary: 'Create a plugin package that works, with its test.',
  details: 'Creates the folder NAME in --dir, by default in the current folder. Never overwrites existing files.',
  run: newPlugin,
};

async function newPlugin(args: readonly string[], { shipped, line }: CommandContext): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, { dir: TEXT });
  const [given = '', name, ...more] = positionals;
  const kind = PLUGIN_KIND_NAMES.find((one) => one === given);
  if (!kind || name === undefined || more.length > 0)
    throw new UsageError(
      `plugin new needs a kind (${PLUGIN_KIND_NAMES.join(', ')}) and a name: ${commandName()} plugin new strategy thrifty.`,
    );
  if (!NAME.test(name))
    throw new UsageError(
      `A plugin's name must begin with a lower-case letter and contain at most 64 lower-case letters, digits and dashes, not "${name}".`,
    );
  if ((await shipped()).some((one) => one.kind === kind && one.name === name))
    throw new UsageError(`Signalbox already has a ${kind} \`${name}\`. Choose another name.`);
  const folder = resolve(values.dir ?? '.', name);
  if (existsSync(folder)) throw new UsageError(`${folder} already exists. Choose another folder or name.`);
  const files = filesOf(kind, name, contractFor(folder));
  try {
    for (const [path, text] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text, { flag: 'wx' });
    }
  } catch (cause) {
    throw new UsageError(`${folder} cannot be written: ${messageOf(cause)}.`);
  }
  return {
    text: nextSteps(kind, name, folder, () => editablePolicies(line.policiesFor('forCommands')), files),
    code: 0,
  };
}

/** Returns the files of the package, by their paths in it. */
function filesOf(kind: PluginKind, name: string, contract: string): Map<string, string> {
  const home = join(TEMPLATES, kind);
  const templates = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = new Map<string, string>();
  for (const { parentPath, name: file } of templates) {
    const path = join(parentPath, file);
    files.set(relative(home, path), named(readFileSync(path, 'utf8'), kind, name));
  }
  files.set('package.json', manifestOf(kind, name));
  files.set('tsconfig.json', compilerOptions(contract));
  files.set('deno.json', denoOptions(contract));
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The form of a YAML key without quotes. */
const PLAIN_KEY = /^[a-z][a-z0-9]*$/;

/** Replaces the names in the templates: `example`, `exampleStrategy` and `EXAMPLE_…`. */
function named(text: string, kind: PluginKind, name: string): string {
  const camel = name.replace(/-+(.?)/g, (_, letter: string) => letter.toUpperCase());
  const suffix = kind.charAt(0).toUpperCase() + kind.slice(1);
  return text
    .replaceAll(`example${suffix}`, `${camel}${suffix}`)
    .replaceAll('EXAMPLE_', `${upperCase(name)}_`)
    .replace(/\bexample(?=: \{)/g, PLAIN_KEY.test(name) ? name : `'${name}'`)
    .replace(/\bexample\b/g, name);
}

/** Writes a name as a part of the name of a variable: `MY_OWN`. */
const upperCase = (name: string): string => name.replaceAll('-', '_').toUpperCase();

function manifestOf(kind: PluginKind, name: string): string {
  return jsonText({
    name: `signalbox-${kind}-${name}`,
    version: '0.1.0',
    description: `The ${kind} ${name} for Signalbox.`,
    private: true,
    type: 'module',
    exports: './index.ts',
    scripts: { test: 'bun test && signalbox plugin test index.ts' },
  });
}

/** Options for editors, `tsc` and `bun test`. The gateway and `plugin test` find `signalbox/plugin` themselves. */
function compilerOptions(contract: string): string {
  const types = SOURCES_ROOT === null ? '' : join(SOURCES_ROOT, 'node_modules/@types');
  // A deployed Signalbox has no types of Bun. The types of a browser are then good enough for everything except the test.
  const hasTypes = types !== '' && existsSync(join(types, 'bun'));
  return jsonText({
    compilerOptions: {
      target: 'ESNext',
      module: 'Preserve',
      moduleResolution: 'bundler',
      lib: hasTypes ? ['ESNext'] : ['ESNext', 'DOM'],
      types: hasTypes ? ['bun'] : [],
      ...(hasTypes && { typeRoots: [types] }),
      strict: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      verbatimModuleSyntax: true,
      skipLibCheck: true,
      // Without `.js`, TypeScript finds the declarations and Bun finds the code.
      paths: { 'signalbox/plugin': [contract.replace(/\.js$/, '')] },
    },
    include: ['*.ts'],
    ...(!hasTypes && { exclude: ['*.test.ts'] }),
  });
}

/** Options for Deno, which loads a plugin without any permission: an import map, and the types of the web. */
function denoOptions(contract: string): string {
  return jsonText({
    // With an import map, Deno finds packages from the file that imports them, and the packages of Signalbox next to its sources.
    nodeModulesDir: 'manual',
    imports: { 'signalbox/plugin': isAbsolute(contract) ? pathToFileURL(contract).href : contract },
    compilerOptions: { lib: ['esnext', 'dom', 'deno.ns'], types: [] },
  });
}

/** The file of a new guard with a text in which it finds something. */
const MATCHING_TEXT = 'samples/match.txt';

interface NewPlugin {
  readonly name: string;
  /** The texts of its files, by their paths in its folder. */
  readonly files: ReadonlyMap<string, string>;
  /** The policy folder as an argument of a command, with a space before it; empty for the default. */
  readonly of: string;
}

/** The next steps: how a policy uses the plugin, and how to see its effect. */
const USES: Readonly<Record<PluginKind, (plugin: NewPlugin) => { readonly policy: string; readonly last: string }>> = {
  strategy: ({ name, of }) => ({
    policy: `selectors: { auto-${name}: { strategy: ${name} } }`,
    last: `Request the model auto-${name}, or see what it would choose:
       ${commandName()} policy explain${of} --model auto-${name} --message Hello`,
  }),
  guard: ({ name, files, of }) => ({
    policy: `guards: [{ name: ${name}, guard: ${name}, on_match: flag }]`,
    last: `See what it finds in a request:
       ${commandName()} policy explain${of} --message ${shellWord(files.get(MATCHING_TEXT)!.trim())}`,
  }),
  provider: ({ name, of }) => ({
    policy: `providers: { ${name}: { adapter: ${name}, base_url: "https://…", api_key_env: ${upperCase(name)}_API_KEY } }`,
    last: `Give it a model (models: { … { provider: ${name}, … } }), and request that model, or see what would be chosen:
       ${commandName()} policy explain${of} --message Hello`,
  }),
};

/** The single program has no types that an editor could read. */
const TYPES_HINT = `
Editors and \`tsc\` read the types of signalbox/plugin from the package of npm. Install it into the plugin's folder:
  npm install --save-dev ./signalbox-VERSION.tgz
\`signalbox plugin test\` and the gateway do not need it.
`;

/** Sections that policies have and few other YAML files have. */
const OF_A_POLICY = /^(?:plugins|providers|selectors|constraints|credits):/m;

/** Finds the policy that contains the plugin, in the same folder or in a subfolder for plugins; null if there is none. */
function policyAround(folder: string): string | null {
  const isPolicy = (at: string) => {
    try {
      const files = readdirSync(at, { withFileTypes: true }).filter((one) => one.isFile() && /\.ya?ml$/.test(one.name));
      return files.some(({ name }) => OF_A_POLICY.test(readFileSync(join(at, name), 'utf8')));
    } catch {
      // The folder cannot be read, which is no reason to fail: the plugin is already created.
      return false;
    }
  };
  return [dirname(folder), dirname(dirname(folder))].find(isPolicy) ?? null;
}

function nextSteps(
  kind: PluginKind,
  name: string,
  folder: string,
  policies: () => string,
  files: ReadonlyMap<string, string>,
): string {
  const home = policyAround(folder) ?? resolve(policies());
  const of = policyArgument(pathText(home));
  const { policy, last } = USES[kind]({ name, files, of });
  return `Created ${files.size} files in ${folder}: ${[...files.keys()].join(', ')}

Next:
  1. Test the plugin with every law that the gateway relies on:
       ${commandName()} plugin test ${shellWord(join(pathText(folder), 'index.ts'))}
  2. Name the plugin in a file of ${pathText(home)}, and check the policy:
       plugins: [${localPath(home, join(folder, 'index.ts'))}]
       ${policy}
       ${checkCommand(pathText(home))}
  3. ${last}
${SOURCES_ROOT === null && PACKAGE_ROOT === null ? TYPES_HINT : ''}`;
}
