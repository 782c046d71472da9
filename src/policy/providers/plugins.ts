import { Type } from '@sinclair/typebox';
import { type Plugin, type PluginMaps, pluginMaps, pluginsIn } from '../../contract/kinds.ts';
import { checkValue } from '../check/check.ts';
import { itemsOf } from '../check/section-checks.ts';
import { type DraftContext, defineInput } from '../define/section.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';

const PluginText = Type.String({
  minLength: 1,
  maxLength: 512,
  examples: ['./plugins/thrifty.ts', '@acme/signalbox-strategy'],
  description: 'A path relative to the policy folder that begins with `./` or `../`, or the name of a package.',
});

/** The section `plugins`, whose plugins are loaded before any section is compiled. */
export const PLUGINS = defineInput({
  name: 'plugins',
  text: Type.Array(PluginText, {
    examples: [['./plugins/thrifty.ts']],
    description: 'Your own plugins: relative paths or names of packages.',
  }),
  guard: 'it runs code in this process',
  draft: draftPlugins,
});

/** A plugin that the policy lists: a path relative to the policy folder, or the name of a package. */
type PluginDraft = ReturnType<typeof draftPlugins>[number];

/** The plugins that a module exports, or the error that prevented loading it. */
export type LoadedPlugin = readonly Plugin[] | Error;

const PATH = /^\.\.?\/(?:[^\0]*\/)?[^/\0]+\.(?:[cm]?[jt]s)$/;
const PACKAGE = /^(?:@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*(?:\/[A-Za-z0-9._-]+)*$/;

/** Checks the form of the listed plugins. `plugin-host` loads the listed plugins. */
function draftPlugins(context: DraftContext) {
  const first = new Map<string, SourceSpan>();
  return itemsOf('plugins', PluginText, context).flatMap((tree, at) => {
    const subject = { path: `plugins[${at}]`, tree, place: tree.place };
    const specifier = checkValue(PluginText, subject, context.report);
    if (specifier === null) return [];
    if (!PATH.test(specifier) && !PACKAGE.test(specifier)) {
      context.report.add('bad-form', tree.place, `\`${specifier}\` is neither a path nor the name of a package`, {
        expected: 'a path to a .ts or .js file such as `./plugins/thrifty.ts`, or a name such as `@acme/strategy`',
        hint: /\.[cm]?[jt]s$/.test(specifier) ? 'begin a path with `./` or `../`' : undefined,
      });
      return [];
    }
    return context.report.isFirst(specifier, tree.place, first) ? [{ specifier, place: tree.place }] : [];
  });
}

/** Facts about the policy's plugins, by specifier. */
interface OwnCode {
  readonly loaded?: ReadonlyMap<string, LoadedPlugin>;
  /** Maps a specifier to a file of the plugin's code outside the policy folder. */
  readonly outside?: ReadonlyMap<string, string>;
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>();

/** Adds the policy's plugins to the installed plugins. `withOwnPlugins` reports plugins that could not be loaded, and names that clash. */
export function withOwnPlugins(
  drafts: readonly PluginDraft[],
  installed: PluginMaps,
  { loaded = NONE, outside = NONE }: OwnCode,
  report: Report,
): PluginMaps {
  const all = pluginsIn(installed);
  for (const { specifier, place } of drafts) {
    const found = loaded.get(specifier) ?? new Error('it is not loaded');
    if (found instanceof Error) {
      report.add('plugin-not-loaded', place, `plugin \`${specifier}\` cannot be used: ${found.message}`);
      continue;
    }
    if (found.length === 0) {
      report.add('plugin-not-loaded', place, `\`${specifier}\` exports no plugin`, {
        expected: 'an export made with `defineStrategy`, `defineProvider` or `defineGuard` of `signalbox/plugin`',
      });
    }
    const file = outside.get(specifier);
    if (file !== undefined) {
      const message = `plugin \`${specifier}\` runs code from outside the policy folder: \`${file}\``;
      report.add('plugin-outside', place, message, {
        hint: 'move it into the policy folder, or install it as a package: anyone who can write to that file can run code as Signalbox',
      });
    }
    for (const plugin of found) {
      if (all.some(({ kind, name }) => kind === plugin.kind && name === plugin.name)) {
        const message = `\`${specifier}\` defines the ${plugin.kind} \`${plugin.name}\`, which already exists`;
        report.add('duplicate-name', place, message, { hint: 'give the plugin another name' });
      } else all.push(plugin);
    }
  }
  return pluginMaps(all);
}
