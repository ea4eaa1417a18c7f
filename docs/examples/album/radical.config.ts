export default { name: "album", assets: { client: "client.js" } };
