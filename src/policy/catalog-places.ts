import type { SourcePlace } from '../core/source-place.ts';
import { mergeFiles } from './merge.ts';
import { type PolicyFile, parseFile } from './parse.ts';
import { Report } from './report.ts';
import { valueAt } from './tree.ts';

/** The places of models and selectors, which a snapshot does not have. */
export interface CatalogPlaces {
  /** By ID. */
  readonly models: ReadonlyMap<string, ModelPlaces>;
  /** By name; without the built-in selectors that the policy does not state. */
  readonly selectors: ReadonlyMap<string, SourcePlace>;
}

export interface ModelPlaces {
  readonly place: SourcePlace;
  /** By index; empty if the model has the short form. */
  readonly endpoints: readonly EndpointPlace[];
}

export interface EndpointPlace {
  readonly provider: string;
  readonly upstream: string;
  readonly place: SourcePlace;
}

/** Reads the places from the files of a valid policy. Pure. */
export function catalogPlacesOf(files: readonly PolicyFile[]): CatalogPlaces {
  const report = new Report();
  // Files with only cases, which may be most of a policy, need no parsing.
  const relevant = files.filter(({ text = '' }) => text.includes('models') || text.includes('selectors'));
  const trees = relevant.map((file) => parseFile(file, report)).filter((tree) => tree !== null);
  const sections = mergeFiles(trees, report);
  const entriesOf = (section: 'models' | 'selectors') => {
    const tree = sections.get(section)?.value;
    return tree?.kind === 'map' ? tree.entries : [];
  };
  const models = entriesOf('models').map(({ key, place, value }): [string, ModelPlaces] => {
    const list = valueAt(value, 'endpoints');
    const endpoints = (list?.kind === 'list' ? list.items : []).map((tree) => ({
      provider: textAt(tree, 'provider', ''),
      // The default is the ID.
      upstream: textAt(tree, 'upstream', key),
      place: tree.place,
    }));
    return [key, { place, endpoints }];
  });
  return {
    models: new Map(models),
    selectors: new Map(entriesOf('selectors').map(({ key, place }) => [key, place])),
  };
}

function textAt(tree: Parameters<typeof valueAt>[0], key: string, otherwise: string): string {
  const found = valueAt(tree, key);
  return found?.kind === 'scalar' ? found.source : otherwise;
}
