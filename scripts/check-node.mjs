// Runs before `npm start` and `npm test`, on any installed Node, so it is plain JavaScript:
// an older Node would fail on the first TypeScript file with an unhelpful message.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  console.error(
    `Node ${process.versions.node} is running, but Tillgate needs Node 24, which \`npm ci\` brings along: run \`npm ci\` without --ignore-scripts.`,
  );
  process.exit(1);
}
