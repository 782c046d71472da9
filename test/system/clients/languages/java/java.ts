import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { ClientCommand, ClientLanguage } from '../language.ts';
import { runWell } from '../runs.ts';
import { programWith } from '../snippets.ts';
import type { PackageVersions } from '../versions.ts';

/** Each client with the project that installs it. The summary shows the client's name, and its program has the same name. */
const CLIENTS = [
  { name: 'com.openai:openai-java', project: 'common' },
  { name: 'com.anthropic:anthropic-java', project: 'common' },
  { name: 'dev.langchain4j:langchain4j-open-ai', project: 'common' },
  // This project needs an older openai-java, and a newer jackson-annotations than Spring Boot's BOM selects.
  { name: 'org.springframework.ai:spring-ai-openai', project: 'spring' },
] as const;
const PROJECTS = new Set(CLIENTS.map(({ project }) => project));

/** Maven plugins. Newer versions need a newer Maven than 3.8, which Debian has. */
const DEPENDENCIES = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';
const RELEASES = 'org.codehaus.mojo:versions-maven-plugin:2.18.0';
/** Versions that `newest` ignores. */
const UNRELEASED = '(?i).*[-.](alpha|beta|m|rc|snapshot)[-.]?[0-9]*.*';

/** The program of `com.openai:openai-java` is `OpenaiJava`. */
const programOf = (client: string): string =>
  (client.split(':').at(-1) as string)
    .split('-')
    .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join('');

const pom = (packages: PackageVersions): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>signalbox</groupId>
  <artifactId>clients</artifactId>
  <version>0</version>
  <dependencies>
${Object.entries(packages)
  .map(([name, version]) => {
    const [group, artifact] = name.split(':');
    return `    <dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  })
  .join('\n')}
  </dependencies>
</project>
`;

const maven = (folder: string, repository: string, ...more: readonly string[]): ClientCommand => ({
  command: ['mvn', '--batch-mode', '--quiet', `-Dmaven.repo.local=${repository}`, ...more],
  cwd: folder,
});

const compile = (folder: string, classpath: string, ...files: readonly string[]): Promise<string> =>
  runWell({ command: ['javac', '-nowarn', '-encoding', 'UTF-8', '-d', folder, '-cp', classpath, ...files] });

const runs = (classpath: string, name: string): ClientCommand => ({
  command: ['java', '-Dfile.encoding=UTF-8', '-cp', classpath, name],
});

/** The classes of a project, and all jars. */
const classpathOf = (folder: string, project: string): string =>
  [join(folder, project), readFileSync(join(folder, project, 'classpath'), 'utf8')].join(delimiter);

export const java: ClientLanguage = {
  name: 'Java',
  tools: ['java', 'javac', 'mvn'],
  page: 'docs/clients/java.md',
  fence: 'java',
  clients: CLIENTS,

  async install(folder, projects) {
    for (const project of PROJECTS) {
      mkdirSync(join(folder, project));
      writeFileSync(join(folder, project, 'pom.xml'), pom(projects[project] ?? {}));
      const goal = `${DEPENDENCIES}:build-classpath`;
      await runWell(maven(join(folder, project), join(folder, 'repository'), goal, '-Dmdep.outputFile=classpath'));
      const programs = CLIENTS.filter((client) => client.project === project).map(({ name }) => programOf(name));
      const files = ['Checks', ...programs].map((name) => join(import.meta.dir, `${name}.java`));
      await compile(join(folder, project), classpathOf(folder, project), ...files);
    }
  },

  command: (folder, { name, project }) => runs(classpathOf(folder, project), programOf(name)),

  async snippet(folder, text, at) {
    const fileOf = (block: number) => join(folder, `block-${block}`, 'Hello.java');
    mkdirSync(join(folder, `block-${at}`));
    writeFileSync(fileOf(at), at === 0 ? text : asClass(readFileSync(fileOf(0), 'utf8'), text));
    const classpath = classpathOf(folder, 'common');
    await compile(join(folder, `block-${at}`), classpath, fileOf(at));
    return runs([join(folder, `block-${at}`), classpath].join(delimiter), 'Hello');
  },

  async newest(packages, folder) {
    writeFileSync(join(folder, 'pom.xml'), pom(Object.fromEntries(packages.map((name) => [name, '0']))));
    const goal = `${RELEASES}:use-latest-releases`;
    await runWell(maven(folder, join(folder, 'repository'), goal, `-Dmaven.version.ignore=${UNRELEASED}`));
    const found = readFileSync(join(folder, 'pom.xml'), 'utf8').matchAll(
      /<artifactId>(.*)<\/artifactId><version>(.*?)</g,
    );
    const versions = new Map([...found].map(([, artifact, version]) => [artifact, version]));
    return Object.fromEntries(packages.map((name) => [name, versions.get(name.split(':')[1]) ?? '']));
  },
};

/** The imports and types of a block go outside the method that contains its statements. */
function asClass(first: string, block: string): string {
  const parts = block.split(/\n\n+/);
  const isImport = (part: string) => part.startsWith('import ');
  const isType = (part: string) => /^(@|class |record )/.test(part);
  const statements = parts.filter((part) => !isImport(part) && !isType(part)).join('\n\n');
  const program = programWith(first, statements, '  }\n}');
  return [...parts.filter(isImport), program, ...parts.filter(isType)].join('\n');
}
