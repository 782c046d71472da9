import { jsonText } from '../../src/admin/cli/text.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';

/** The dialects of the console's playground, which the console cannot import from the modules of the server. */
export const playgroundDialects = (): string =>
  jsonText(
    Object.fromEntries(
      SURFACES.flatMap(({ name, playground, routes: [{ kind, path }] }) => {
        if (!playground) return [];
        const { word, ...shown } = playground;
        return [[word, { ...shown, path, name: kind === 'generate' ? name : null }] as const];
      }),
    ),
  );
