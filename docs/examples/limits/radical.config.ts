export default { name: "limits", dev: { locations: { near: 20, far: 80 } } };
