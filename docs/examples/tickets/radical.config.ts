export default { name: "tickets" };
