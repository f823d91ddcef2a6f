// What a source file refers to, read from its syntax tree: every form of import, `new URL('./x.ts', import.meta.url)`,
// and the places where it reads the environment or exports a default.
import { parseSync, Visitor } from 'oxc-parser';

export interface Reference {
  /** As written; undefined when it is computed and cannot be judged. */
  target: string | undefined;
  isTypeOnly: boolean;
}

export interface FileFacts {
  references: Reference[];
  readsEnvironment: boolean;
  hasDefaultExport: boolean;
  hasHeader: boolean;
  syntaxErrors: string[];
  functions: { name: string; lines: number }[];
}

interface Node {
  type: string;
  [key: string]: unknown;
}

function literal(node: Node | null | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof node['value'] === 'string') return node['value'];
  const quasis = node?.type === 'TemplateLiteral' ? (node['quasis'] as { value: { cooked: string | null } }[]) : [];
  return quasis.length === 1 ? (quasis[0]?.value.cooked ?? undefined) : undefined;
}

const isNamed = (node: Node | null | undefined, name: string) => node?.type === 'Identifier' && node['name'] === name;

/** `import.meta.url`, `import.meta.resolve`... */
function isImportMeta(node: Node | undefined, property: string): boolean {
  return (
    node?.type === 'MemberExpression' && (node['object'] as Node).type === 'MetaProperty' && isNamed(node['property'] as Node, property)
  );
}

function importsOnlyTypes(node: Node, specifiersKey: string, kindKey: string): boolean {
  if (node[kindKey] === 'type') return true;
  const specifiers = (node[specifiersKey] ?? []) as Node[];
  return specifiers.length > 0 && specifiers.every((specifier) => specifier[kindKey] === 'type');
}

export function readFacts(path: string, text: string): FileFacts {
  const { program, comments, errors } = parseSync(path, text);
  const references: Reference[] = [];
  const facts: FileFacts = {
    references,
    readsEnvironment: false,
    hasDefaultExport: false,
    hasHeader: comments[0]?.start === (program.hashbang ? program.hashbang.end + 1 : 0),
    syntaxErrors: errors.map((error) => error.message),
    functions: [],
  };
  const add = (node: Node | null | undefined, isTypeOnly = false) => references.push({ target: literal(node), isTypeOnly });
  const on = (visit: (node: Node) => void) => (node: unknown) => visit(node as Node);

  const measure = (name: unknown, node: Node) => {
    const lines = text.slice(Number(node['start']), Number(node['end'])).split('\n').length;
    facts.functions.push({ name: String(name), lines });
  };

  new Visitor({
    FunctionDeclaration: on((node) => measure((node['id'] as Node | null)?.['name'], node)),
    MethodDefinition: on((node) => measure((node['key'] as Node)['name'], node)),
    ImportDeclaration: on((node) => {
      add(node['source'] as Node, importsOnlyTypes(node, 'specifiers', 'importKind'));
    }),
    ExportNamedDeclaration: on((node) => {
      if (node['source']) add(node['source'] as Node, importsOnlyTypes(node, 'specifiers', 'exportKind'));
      const specifiers = (node['specifiers'] ?? []) as Node[];
      if (specifiers.some((specifier) => isNamed(specifier['exported'] as Node, 'default'))) facts.hasDefaultExport = true;
    }),
    ExportAllDeclaration: on((node) => {
      add(node['source'] as Node, node['exportKind'] === 'type');
    }),
    ExportDefaultDeclaration() {
      facts.hasDefaultExport = true;
    },
    ImportExpression: on((node) => {
      add(node['source'] as Node);
    }),
    TSImportType: on((node) => {
      add(node['source'] as Node, true);
    }),
    TSImportEqualsDeclaration: on((node) => {
      const reference = node['moduleReference'] as Node;
      if (reference.type === 'TSExternalModuleReference') add(reference['expression'] as Node);
    }),
    NewExpression: on((node) => {
      const [target, base] = node['arguments'] as Node[];
      if (isNamed(node['callee'] as Node, 'URL') && isImportMeta(base, 'url')) add(target);
      // A worker by a computed path is an import that cannot be judged.
      if (isNamed(node['callee'] as Node, 'Worker') && target?.type !== 'NewExpression') add(target);
    }),
    CallExpression: on((node) => {
      const callee = node['callee'] as Node;
      const [target] = node['arguments'] as Node[];
      if (isNamed(callee, 'require')) add(target);
      if (isImportMeta(callee, 'resolve')) {
        const head =
          target?.type === 'TemplateLiteral' ? (target['quasis'] as { value: { cooked: string } }[])[0]?.value.cooked : undefined;
        // `some-package/${file}`: the package is certain even where the file is not.
        const known = literal(target) ?? (head?.includes('/') && !head.startsWith('.') ? head : undefined);
        references.push({ target: known, isTypeOnly: false });
      }
    }),
    MemberExpression: on((node) => {
      const property = node['property'] as Node;
      if (isNamed(node['object'] as Node, 'process') && (isNamed(property, 'env') || literal(property) === 'env'))
        facts.readsEnvironment = true;
    }),
    VariableDeclarator: on((node) => {
      const pattern = node['id'] as Node;
      if (!isNamed(node['init'] as Node, 'process') || pattern.type !== 'ObjectPattern') return;
      const properties = pattern['properties'] as Node[];
      if (properties.some((property) => property.type === 'RestElement' || isNamed(property['key'] as Node, 'env')))
        facts.readsEnvironment = true;
    }),
  }).visit(program);
  return facts;
}
